// Basics for kernels on Highway vectors: short names, a b + c with one or two roundings, the largest of some
// numbers. Private: included once per SIMD level through hwy/foreach_target.h, like Highway's own -inl
// headers.
#if defined(LARGO_NUMERICS_SIMD_INL_HPP_) == defined(HWY_TARGET_TOGGLE)
#ifdef LARGO_NUMERICS_SIMD_INL_HPP_
#undef LARGO_NUMERICS_SIMD_INL_HPP_
#else
#define LARGO_NUMERICS_SIMD_INL_HPP_
#endif

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace largo::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// Vectors of at most four doubles, for kernels whose sums have the same order at every level.
namespace four {
using D = hn::CappedTag<double, 4>;
using V = hn::Vec<D>;
constexpr std::size_t kLanes = hn::MaxLanes(D());
}  // namespace four

/// The largest of values[0 .. count). Domain: values aligned, count >= 1.
template <class D, typename T = hn::TFromD<D>>
HWY_INLINE T Largest(D d, const T* HWY_RESTRICT values, std::size_t count) {
  const std::size_t lanes = hn::MaxLanes(d);
  auto largest = hn::Set(d, values[0]);
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes) largest = hn::Max(largest, hn::Load(d, values + i));
  T result = hn::GetLane(hn::MaxOfLanes(d, largest));
  for (; i < count; ++i) result = std::max(result, values[i]);
  return result;
}

/// a b + c with two roundings: the same at every level.
struct Separate {
  template <class V>
  static HWY_INLINE V MulAdd(V a, V b, V c) {
    return hn::Add(hn::Mul(a, b), c);
  }
};

/// a b + c with one rounding: the same at every level, float or double. One instruction if the level has it
/// (AVX2 and up), otherwise about twenty.
struct FusedExact {
  template <class V>
  static HWY_INLINE V MulAdd(V a, V b, V c) {
#if HWY_NATIVE_FMA
    return hn::MulAdd(a, b, c);
#else
    return Emulated(hn::DFromV<V>(), a, b, c);
#endif
  }

#if !HWY_NATIVE_FMA
 private:
  // Lane by lane. (std::fma uses the instruction of a CPU that has it.)
  template <class D, class V = hn::Vec<D>>
  static HWY_INLINE V Emulated(D d, V a, V b, V c) {
    using T = hn::TFromD<D>;
    constexpr std::size_t kLanes = hn::MaxLanes(D());
#if HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_EMU128
    if constexpr (sizeof(T) == sizeof(float) && kLanes > 1) {
      const hn::Half<D> half;
      return hn::Combine(
          d, InDoubles(half, hn::UpperHalf(half, a), hn::UpperHalf(half, b), hn::UpperHalf(half, c)),
          InDoubles(half, hn::LowerHalf(half, a), hn::LowerHalf(half, b), hn::LowerHalf(half, c)));
    }
#endif
    alignas(64) T x[kLanes], y[kLanes], z[kLanes];
    hn::Store(a, d, x);
    hn::Store(b, d, y);
    hn::Store(c, d, z);
    for (std::size_t i = 0; i < kLanes; ++i) z[i] = std::fma(x[i], y[i], z[i]);
    return hn::Load(d, z);
  }

  // In double the product is exact. An inexact sum gets an odd last bit, which keeps it between the same two
  // floats as the exact sum, so that rounding it rounds the exact sum. (Infinity and NaN have no error.)
  template <class DF, class V = hn::Vec<DF>>
  static HWY_INLINE V InDoubles(DF df, V a, V b, V c) {
    const hn::Rebind<double, DF> d;
    const hn::Rebind<std::uint64_t, DF> du;
    const auto product = hn::Mul(hn::PromoteTo(d, a), hn::PromoteTo(d, b));
    const auto term = hn::PromoteTo(d, c);
    const auto sum = hn::Add(product, term);
    const auto second = hn::Sub(sum, product);
    const auto error = hn::Add(hn::Sub(product, hn::Sub(sum, second)), hn::Sub(term, second));
    const auto inexact = hn::Gt(hn::Abs(error), hn::Zero(d));
    // Towards the error: one down if the error and the sum have different signs, then up to an odd number.
    const auto apart = hn::ShiftRight<63>(hn::BitCast(du, hn::Xor(sum, error)));
    const auto odd = hn::Or(hn::Sub(hn::BitCast(du, sum), apart), hn::Set(du, 1));
    return hn::DemoteTo(df, hn::IfThenElse(inexact, hn::BitCast(d, odd), sum));
  }
#endif
};

}  // namespace largo::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // include guard toggled per target
