#include "prompts/token_transforms.hpp"

#include <algorithm>
#include <cmath>
#include <span>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "prompts/token_transforms.cpp"
#include "hwy/foreach_target.h"  // must precede highway.h
#include "hwy/highway.h"

#include "largo/numerics/simd_level.hpp"
#include "numerics/simd-inl.hpp"
#include "numerics/simd_math.hpp"
#include "prompts/kernel-inl.hpp"
#include "random/float_draws.hpp"

HWY_BEFORE_NAMESPACE();
namespace largo::HWY_NAMESPACE {
namespace {

using namespace tokens;

// Calls use(d, i) for vectors d of tokens from number i on: as wide as there are, and for the last eight one
// of eight at most.
template <class Use>
HWY_INLINE void ForTokens(std::size_t count, const Use& use) {
  std::size_t i = 0;
  for (; i + hn::MaxLanes(Wide()) <= count; i += hn::MaxLanes(Wide())) use(Wide(), i);
  for (; i < count; i += kFloats) use(DF(), i);
}

void Coins(const std::uint32_t* HWY_RESTRICT words, std::size_t count, int bit, float low, float high,
           float* HWY_RESTRICT tokens) {
  ForTokens(count, [&](auto d, std::size_t i) {
    const hn::RebindToUnsigned<decltype(d)> du;
    const auto mask = hn::Set(du, std::uint32_t{1} << bit);
    const auto heads = hn::RebindMask(d, hn::TestBit(hn::Load(du, words + i), mask));
    hn::Store(hn::IfThenElse(heads, hn::Set(d, high), hn::Set(d, low)), d, tokens + i);
  });
}

void PickAtoms(const std::uint32_t* HWY_RESTRICT words, std::size_t count, const Atoms& law,
               float* HWY_RESTRICT tokens) {
  const DF df;
  const DU du;
  const DI di;
  // Only signed comparisons exist at every level, so the upper bit of both sides is flipped.
  const auto flip = hn::Set(du, 0x80000000U);
  for (std::size_t i = 0; i < count; i += kFloats) {
    const auto word = hn::BitCast(di, hn::Xor(hn::Load(du, words + i), flip));
    auto value = hn::Set(df, law.value[kMostAtoms - 1]);
    for (std::size_t k = kMostAtoms - 1; k-- > 0;) {
      const auto bound = hn::BitCast(di, hn::Xor(hn::Set(du, law.below[k]), flip));
      value = hn::IfThenElse(hn::RebindMask(df, hn::Lt(word, bound)), hn::Set(df, law.value[k]), value);
    }
    hn::Store(value, df, tokens + i);
  }
}

void Interval(const std::uint32_t* HWY_RESTRICT words, std::size_t count, float centre, float half_width,
              float* HWY_RESTRICT tokens) {
  const DF df;
  const DU du;
  const DI di;
  for (std::size_t i = 0; i < count; i += kFloats) {
    const auto u = hn::ConvertTo(df, hn::BitCast(di, hn::Load(du, words + i)));  // from -2^31 to 2^31
    const auto x = hn::Mul(u, hn::Set(df, half_width * 0x1p-31F));
    hn::Store(hn::Add(hn::Set(df, centre), x), df, tokens + i);
  }
}

void Normalise(float* HWY_RESTRICT tokens, std::size_t stride, std::size_t count, std::size_t all,
               std::size_t kept) {
  ForTokens(count, [&](auto d, std::size_t i) {
    auto square = hn::Zero(d);
    for (std::size_t j = 0; j < all; ++j) {
      const auto x = hn::Load(d, tokens + j * stride + i);
      square = hn::Add(square, hn::Mul(x, x));
    }
    const auto small = hn::Lt(square, hn::Set(d, 0x1p-100F));
    const auto factor = hn::Div(hn::Set(d, 1.0F), hn::Sqrt(hn::IfThenElse(small, hn::Set(d, 1.0F), square)));
    for (std::size_t j = 0; j < kept; ++j) {
      hn::Store(hn::Mul(hn::Load(d, tokens + j * stride + i), factor), d, tokens + j * stride + i);
    }
  });
}

}  // namespace
}  // namespace largo::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace largo::prompts {
HWY_EXPORT(Coins);
HWY_EXPORT(PickAtoms);
HWY_EXPORT(Interval);
HWY_EXPORT(Normalise);

void coins(const std::uint32_t* words, std::size_t count, int bit, float low, float high, float* tokens) {
  ensure_simd_level();
  HWY_DYNAMIC_DISPATCH(Coins)(words, count, bit, low, high, tokens);
}

void atoms(const std::uint32_t* words, std::size_t count, const Atoms& law, float* tokens) {
  ensure_simd_level();
  HWY_DYNAMIC_DISPATCH(PickAtoms)(words, count, law, tokens);
}

void interval(const std::uint32_t* words, std::size_t count, float centre, float half_width, float* tokens) {
  ensure_simd_level();
  HWY_DYNAMIC_DISPATCH(Interval)(words, count, centre, half_width, tokens);
}

void two_sided(const std::uint32_t* words, std::size_t count, const TwoSided& law, float* tokens) {
  constexpr std::size_t kAtOnce = 64;
  double uniforms[kAtOnce], logs[kAtOnce];
  for (std::size_t first = 0; first < count; first += kAtOnce) {
    const std::size_t size = std::min(kAtOnce, count - first);
    for (std::size_t i = 0; i < size; ++i) {
      uniforms[i] = (static_cast<double>(words[first + i]) + 0.5) * 0x1p-31 - 1;
      logs[i] = 1 - std::abs(uniforms[i]) * law.mass;
    }
    numerics::log(std::span<const double>(logs, size), std::span<double>(logs, size));
    for (std::size_t i = 0; i < size; ++i) {
      const double length = std::min(-law.scale * logs[i], law.bound);
      tokens[first + i] = static_cast<float>(std::copysign(length, uniforms[i]));
    }
  }
}

void normalise(float* tokens, std::size_t stride, std::size_t count, std::size_t all, std::size_t kept) {
  ensure_simd_level();
  HWY_DYNAMIC_DISPATCH(Normalise)(tokens, stride, count, all, kept);
}

}  // namespace largo::prompts
#endif  // HWY_ONCE
