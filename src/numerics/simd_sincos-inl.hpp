// sin and cos on Highway vectors, in radians and in half-turns. Included through simd_math-inl.hpp.
#if defined(LARGO_NUMERICS_SIMD_SINCOS_INL_HPP_) == defined(HWY_TARGET_TOGGLE)
#ifdef LARGO_NUMERICS_SIMD_SINCOS_INL_HPP_
#undef LARGO_NUMERICS_SIMD_SINCOS_INL_HPP_
#else
#define LARGO_NUMERICS_SIMD_SINCOS_INL_HPP_
#endif

#include <cmath>
#include <cstddef>
#include <cstdint>

#include "hwy/highway.h"
#include "numerics/simd_exp_log-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace largo {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// Turns (sin r, cos r) into (sin, cos) of r + n pi/2. `n_bits` is n + 1.5 2^52, so n mod 4 is in its low
/// bits.
template <class D, class V = hn::Vec<D>>
HWY_INLINE void Rotate(D d, V n_bits, V sin_r, V cos_r, V& sin, V& cos) {
  const hn::RebindToUnsigned<D> du;
  const auto quadrant = hn::BitCast(du, n_bits);
  const auto one = hn::Set(du, 1);
  const auto two = hn::Set(du, 2);
  const auto swap = hn::RebindMask(d, hn::TestBit(quadrant, one));
  const V sin_sign = hn::BitCast(d, hn::ShiftLeft<62>(hn::And(quadrant, two)));
  const V cos_sign = hn::BitCast(d, hn::ShiftLeft<62>(hn::And(hn::Add(quadrant, one), two)));
  sin = hn::Xor(hn::IfThenElse(swap, cos_r, sin_r), sin_sign);
  cos = hn::Xor(hn::IfThenElse(swap, sin_r, cos_r), cos_sign);
}

/// sin and cos of the unevaluated sum r + r_low, |r| <= pi/4, |r_low| <= an ulp of r.
template <class D, class V = hn::Vec<D>>
HWY_INLINE void SinCosReduced(D d, V r, V r_low, V& sin, V& cos) {
  // (sin(r)/r - 1)/r^2 and (cos(r) - 1 + r^2/2)/r^4 in r^2: errors 2^-57.9 and 2^-64
  static constexpr double kSin[] = {-0x1.5555555555548p-3, 0x1.111111110f77cp-7,   -0x1.a01a019bf7bcbp-13,
                                    0x1.71de35649b231p-19, -0x1.ae5e591921411p-26, 0x1.5d8f97c9f3d4bp-33};
  static constexpr double kCos[] = {0x1.555555555554bp-5,   -0x1.6c16c16c1504bp-10, 0x1.a01a019c9773cp-16,
                                    -0x1.27e4f7f8e48edp-22, 0x1.1ee9e1583270bp-29,  -0x1.8fa99010a4496p-37};
  const V one = hn::Set(d, 1.0);
  const V z = hn::Mul(r, r);
  const V sin_rest = hn::Mul(hn::Mul(r, z), Polynomial<Separate>(d, z, kSin));
  sin = hn::Add(r, hn::Add(sin_rest, r_low));
  const V half = hn::Mul(z, hn::Set(d, 0.5));
  const V head = hn::Sub(one, half);
  const V head_low = hn::Sub(hn::Sub(one, head), half);
  const V cos_rest = hn::Sub(hn::Mul(hn::Mul(z, z), Polynomial<Separate>(d, z, kCos)), hn::Mul(r, r_low));
  cos = hn::Add(head, hn::Add(head_low, cos_rest));
}

/// SinCos for |x| <= 2^20: r = x - n pi/2 with pi/2 in three parts of 33, 33 and 53 bits.
template <class D, class V = hn::Vec<D>>
HWY_INLINE void SinCosModerate(D d, V x, V& sin, V& cos) {
  const V round = hn::Set(d, ExpConstants<double>::kRound);
  const V n_bits = hn::Add(hn::Mul(x, hn::Set(d, 0x1.45f306dc9c883p-1)), round);
  const V n = hn::Sub(n_bits, round);
  const V r1 = hn::Sub(x, hn::Mul(n, hn::Set(d, 0x1.921fb54400000p+0)));  // exact
  const V part2 = hn::Mul(n, hn::Set(d, 0x1.0b4611a600000p-34));          // exact
  const V part3 = hn::Mul(n, hn::Set(d, 0x1.3198a2e037073p-69));
  const V r2 = hn::Sub(r1, part2);
  // Where |r1| < |part2| the difference r2 is exact and this is 0, as it should be.
  const V r2_low = hn::Sub(hn::Sub(r1, r2), part2);
  const V correction = hn::Sub(part3, r2_low);
  const V r = hn::Sub(r2, correction);
  const V r_low = hn::Sub(hn::Sub(r2, r), correction);
  V sin_r, cos_r;
  SinCosReduced(d, r, r_low, sin_r, cos_r);
  Rotate(d, n_bits, sin_r, cos_r, sin, cos);
  sin = hn::IfThenElse(hn::Eq(x, hn::Zero(d)), x, sin);  // keeps the sign of -0
}

/// sin(x) and cos(x), double. Error <= 1.5 ulp. Lanes with |x| > 2^20 are left to the C library one by one,
/// whose bits depend on its version, not on the level. sin(-0) = -0; infinities and NaN give NaN.
/// Cost: about 60 operations.
template <class D, class V = hn::Vec<D>>
HWY_INLINE void SinCos(D d, V x, V& sin, V& cos) {
  const auto moderate = hn::Le(hn::Abs(x), hn::Set(d, 0x1p20));
  SinCosModerate(d, x, sin, cos);
  if (HWY_LIKELY(hn::AllTrue(d, moderate))) return;
  HWY_ALIGN double x_lane[HWY_MAX_BYTES / sizeof(double)];
  HWY_ALIGN double sin_lane[HWY_MAX_BYTES / sizeof(double)];
  HWY_ALIGN double cos_lane[HWY_MAX_BYTES / sizeof(double)];
  hn::Store(x, d, x_lane);
  hn::Store(sin, d, sin_lane);
  hn::Store(cos, d, cos_lane);
  for (std::size_t i = 0; i < hn::Lanes(d); ++i) {
    if (std::abs(x_lane[i]) <= 0x1p20) continue;
    sin_lane[i] = std::sin(x_lane[i]);
    cos_lane[i] = std::cos(x_lane[i]);
  }
  sin = hn::Load(d, sin_lane);
  cos = hn::Load(d, cos_lane);
}

/// sin(pi x) and cos(pi x), double. Error <= 1 ulp for every finite x: r = x - n/2 is exact, and pi r is a
/// product in two parts (26 bits of pi by 26 bits of r, exact, and the rest).
/// sin(pi -0) = -0, other exact zeros have either sign; infinities and NaN give NaN. Cost: about 60
/// operations.
template <class D, class V = hn::Vec<D>>
HWY_INLINE void SinCosPi(D d, V x, V& sin, V& cos) {
  constexpr double kPi = 0x1.921fb54442d18p+1;
  constexpr double kPiHigh = 0x1.921fb50000000p+1;
  constexpr double kPiLow = 0x1.110b4611a6263p-25;
  const hn::RebindToUnsigned<D> du;
  if (HWY_UNLIKELY(!hn::AllTrue(d, hn::Le(hn::Abs(x), hn::Set(d, 0x1p49))))) {
    HWY_ALIGN double lane[HWY_MAX_BYTES / sizeof(double)];
    hn::Store(x, d, lane);
    for (std::size_t i = 0; i < hn::Lanes(d); ++i) lane[i] = std::fmod(lane[i], 2.0);  // exact
    x = hn::Load(d, lane);
  }
  const V round = hn::Set(d, ExpConstants<double>::kRound);
  const V n_bits = hn::Add(hn::Add(x, x), round);
  const V n = hn::Sub(n_bits, round);
  const V r = hn::Sub(x, hn::Mul(n, hn::Set(d, 0.5)));
  const V r_head = hn::And(r, hn::BitCast(d, hn::Set(du, 0xfffffffff8000000)));
  const V r_rest = hn::Sub(r, r_head);
  const V large = hn::Mul(r_head, hn::Set(d, kPiHigh));
  const V small = hn::Add(hn::Mul(r_head, hn::Set(d, kPiLow)), hn::Mul(r_rest, hn::Set(d, kPi)));
  const V angle = hn::Add(large, small);
  const V angle_low = hn::Sub(small, hn::Sub(angle, large));
  V sin_r, cos_r;
  SinCosReduced(d, angle, angle_low, sin_r, cos_r);
  Rotate(d, n_bits, sin_r, cos_r, sin, cos);
  sin = hn::IfThenElse(hn::Eq(x, hn::Zero(d)), x, sin);  // keeps the sign of -0
}

}  // namespace HWY_NAMESPACE
}  // namespace largo
HWY_AFTER_NAMESPACE();

#endif  // include guard toggled per target
