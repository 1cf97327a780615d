// What the kernels over tokens have in common: the names of their layer, and vectors of floats in which lane
// i holds token i modulo kTokensAtOnce at every SIMD level. Private: included once per SIMD level through
// hwy/foreach_target.h, like Highway's own -inl headers.
#if defined(LARGO_PROMPTS_KERNEL_INL_HPP_) == defined(HWY_TARGET_TOGGLE)
#ifdef LARGO_PROMPTS_KERNEL_INL_HPP_
#undef LARGO_PROMPTS_KERNEL_INL_HPP_
#else
#define LARGO_PROMPTS_KERNEL_INL_HPP_
#endif

#include <cstddef>

#include "numerics/simd-inl.hpp"
#include "random/float_draws.hpp"

namespace largo::prompts {}

// Whether vectors have 512 bits at this level.
#undef LARGO_HAS_512_BITS
#if HWY_TARGET <= HWY_AVX3 && HWY_MAX_BYTES >= 64
#define LARGO_HAS_512_BITS 1
#else
#define LARGO_HAS_512_BITS 0
#endif

HWY_BEFORE_NAMESPACE();
namespace largo::HWY_NAMESPACE {

using namespace prompts;

namespace tokens {
using DF = hn::CappedTag<float, random::kTokensAtOnce>;
using DU = hn::RebindToUnsigned<DF>;
using DI = hn::RebindToSigned<DF>;
using V = hn::Vec<DF>;
constexpr std::size_t kFloats = hn::MaxLanes(DF());
// For what tokens have to themselves, so that it need not be summed.
using Wide = hn::CappedTag<float, 2 * random::kTokensAtOnce>;
}  // namespace tokens

}  // namespace largo::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // include guard toggled per target
