// Elementary functions on Highway vectors, for use inside kernels. Private: included once per SIMD level
// through hwy/foreach_target.h, like Highway's own -inl headers.
//
//   Exp, ExpSum, Exp2, Log, SinCos, SinCosPi, NormalInverse
//
// Every function returns the same bits at every level: the polynomials use separate multiplications and
// additions (SSE has no fused ones, and the build sets -ffp-contract=off), and the rest uses only operations
// that IEEE 754 rounds correctly. The bits of a NaN are not specified. Highway's contrib/math is not used: it
// fuses where it can, and is wrong at NaN, infinities and zero.
//
// The polynomials are weighted least-squares fits on Chebyshev nodes in 60 digits, each coefficient rounded
// to working precision before the next is fitted; the errors quoted are those of the rounded polynomials.
// Measured errors of the whole functions are in numerics/simd_math.hpp, and the tests assert them.
#if defined(LARGO_NUMERICS_SIMD_MATH_INL_HPP_) == defined(HWY_TARGET_TOGGLE)
#ifdef LARGO_NUMERICS_SIMD_MATH_INL_HPP_
#undef LARGO_NUMERICS_SIMD_MATH_INL_HPP_
#else
#define LARGO_NUMERICS_SIMD_MATH_INL_HPP_
#endif

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "numerics/function_constants.hpp"
#include "numerics/simd-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace largo::HWY_NAMESPACE {

/// c[kFrom] + c[kFrom + kStep] z + c[kFrom + 2 kStep] z^2 + ... by Horner's rule.
template <class Rounding, std::size_t kFrom, std::size_t kStep, class D, class V, std::size_t kCount>
HWY_INLINE V Horner(D d, V z, const hn::TFromD<D> (&c)[kCount]) {
  if constexpr (kFrom + kStep >= kCount) {
    return hn::Set(d, c[kFrom]);
  } else {
    return Rounding::MulAdd(z, Horner<Rounding, kFrom + kStep, kStep>(d, z, c), hn::Set(d, c[kFrom]));
  }
}

/// The polynomial with coefficients c, lowest first: even and odd terms as two independent chains, which
/// halves the latency.
template <class Rounding, class D, class V, std::size_t kCount>
HWY_INLINE V Polynomial(D d, V x, const hn::TFromD<D> (&c)[kCount]) {
  const V z = hn::Mul(x, x);
  return Rounding::MulAdd(x, Horner<Rounding, 1, 2>(d, z, c), Horner<Rounding, 0, 2>(d, z, c));
}

/// exp(x + tail) = 2^n exp(r), n = round(x / log 2), r = x + tail - n log 2 as an unevaluated sum.
/// For tails up to an ulp of x; float or double. Error <= 1 ulp, subnormal results included.
/// Edges, whatever the tail: exp(-inf) = 0, exp(+inf) = +inf, exp(NaN) = NaN. Cost: about 45 operations.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V ExpSum(D d, V x, V tail) {
  using T = hn::TFromD<D>;
  using C = numerics::ExpConstants<T>;
  const hn::RebindToUnsigned<D> du;
  const V one = hn::Set(d, T{1});
  const V round = hn::Set(d, C::kRound);
  const V n_bits = hn::Add(hn::Mul(x, hn::Set(d, C::kLog2E)), round);
  const V n = hn::Sub(n_bits, round);

  const V r_high = hn::Sub(x, hn::Mul(n, hn::Set(d, C::kLn2High)));  // exact
  const V correction = hn::Sub(hn::Mul(n, hn::Set(d, C::kLn2Low)), tail);
  const V r = hn::Sub(r_high, correction);
  const V r_low = hn::Sub(hn::Sub(r_high, r), correction);

  // 1 + r + (r_low + r^2 p(r)), with the rounding error of 1 + r kept, so that the sum is rounded once.
  const V head = hn::Add(one, r);
  const V head_low = hn::Sub(r, hn::Sub(head, one));
  const V rest = hn::Mul(hn::Mul(r, r), Polynomial<Separate>(d, r, C::kPolynomial));
  const V mantissa = hn::Add(head, hn::Add(head_low, hn::Add(r_low, rest)));

  // 2^n in two factors, neither of which overflows, so that only the last product rounds to a subnormal.
  const V half_bits = hn::Add(hn::Mul(x, hn::Set(d, C::kLog2E / 2)), round);
  const auto half = hn::ShiftLeft<C::kMantissaBits>(hn::BitCast(du, half_bits));
  const auto whole = hn::ShiftLeft<C::kMantissaBits>(hn::BitCast(du, n_bits));
  const auto bias = hn::Set(du, C::kOneBits);
  const V first = hn::BitCast(d, hn::Add(half, bias));
  const V second = hn::BitCast(d, hn::Add(hn::Sub(whole, half), bias));
  const V y = hn::Mul(hn::Mul(mantissa, first), second);

  const V positive = hn::IfThenZeroElse(hn::Lt(x, hn::Set(d, C::kZeroBelow)), y);
  return hn::IfThenElse(hn::Gt(x, hn::Set(d, C::kInfinityAbove)),
                        hn::Set(d, std::numeric_limits<T>::infinity()), positive);
}

/// exp(x), float or double; error, edges and cost as for ExpSum.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V Exp(D d, V x) {
  return ExpSum(d, x, hn::Zero(d));
}

/// 2^x for x <= 0, float. Error <= 1.5 ulp. Results below the smallest normal number are 0 (x < -126). 2^NaN
/// = NaN, 2^-inf = 0. For x > 0 the result is meaningless beyond the overflow at 128. The cheapest
/// exponential here: about 15 operations with fused multiply-adds, 20 with separate ones, whose bits are the
/// same at every level.
template <class Rounding, class D, class V = hn::Vec<D>>
HWY_INLINE V Exp2(D d, V x) {
  const hn::RebindToUnsigned<D> du;
  const V round = hn::Set(d, numerics::ExpConstants<float>::kRound);
  const V n_bits = hn::Add(x, round);
  const V r = hn::Sub(x, hn::Sub(n_bits, round));
  const V mantissa =
      Rounding::MulAdd(r, Polynomial<Rounding>(d, r, numerics::Exp2Constants::kPolynomial), hn::Set(d, 1.0F));
  const auto exponent = hn::ShiftLeft<numerics::ExpConstants<float>::kMantissaBits>(hn::BitCast(du, n_bits));
  const V y = hn::BitCast(d, hn::Add(hn::BitCast(du, mantissa), exponent));
  return hn::IfThenZeroElse(hn::Lt(x, hn::Set(d, numerics::Exp2Constants::kZeroBelow)), y);
}

/// log(x) + exponent_shift log 2 for positive, normal, finite x.
/// x = 2^k (1 + f), 1 + f in [sqrt(1/2), sqrt(2)); with s = f/(2 + f),
/// log(1 + f) = f - f^2/2 + s (f^2/2 + R(s^2)), summed with the error of the large terms kept.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V LogOfNormal(D d, V x, V exponent_shift) {
  const hn::RebindToUnsigned<D> du;
  using C = numerics::LogConstants;
  const auto offset = hn::Sub(hn::BitCast(du, x), hn::Set(du, C::kRootHalfBits - (C::kBias << 52)));
  const V m =
      hn::BitCast(d, hn::Add(hn::And(offset, hn::Set(du, C::kMantissaMask)), hn::Set(du, C::kRootHalfBits)));
  const V k_plus = hn::BitCast(d, hn::Or(hn::ShiftRight<52>(offset), hn::Set(du, C::kTwo52Bits)));
  const V k = hn::Add(hn::Sub(k_plus, hn::Set(d, 0x1p52 + C::kBias)), exponent_shift);

  const V f = hn::Sub(m, hn::Set(d, 1.0));
  const V s = hn::Div(f, hn::Add(f, hn::Set(d, 2.0)));
  const V z = hn::Mul(s, s);
  const V R = hn::Mul(z, Polynomial<Separate>(d, z, C::kPolynomial));
  const V half_square = hn::Mul(hn::Mul(hn::Set(d, 0.5), f), f);
  const V head = hn::Sub(f, half_square);
  const V head_low = hn::Sub(hn::Sub(f, head), half_square);
  const V k_high = hn::Mul(k, hn::Set(d, numerics::ExpConstants<double>::kLn2High));  // exact
  const V sum = hn::Add(k_high, head);
  const V sum_low = hn::Add(hn::Sub(k_high, sum), head);
  const V small = hn::Add(hn::Add(head_low, hn::Mul(s, hn::Add(half_square, R))),
                          hn::Mul(k, hn::Set(d, numerics::ExpConstants<double>::kLn2Low)));
  return hn::Add(sum, hn::Add(sum_low, small));
}

/// log(x), double. Error <= 1 ulp, subnormal x included. Edges: log(+-0) = -inf, log(x < 0) = NaN,
/// log(+inf) = +inf, log(NaN) = NaN. Cost: about 40 operations, one of them a division.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V Log(D d, V x) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const V smallest = hn::Set(d, std::numeric_limits<double>::min());
  const V infinity = hn::Set(d, kInfinity);
  if (HWY_LIKELY(hn::AllTrue(d, hn::And(hn::Ge(x, smallest), hn::Lt(x, infinity))))) {
    return LogOfNormal(d, x, hn::Zero(d));
  }
  const auto subnormal = hn::Lt(x, smallest);
  const V scaled = hn::IfThenElse(subnormal, hn::Mul(x, hn::Set(d, 0x1p54)), x);
  const V shift = hn::IfThenElseZero(subnormal, hn::Set(d, -54.0));
  const V y = LogOfNormal(d, scaled, shift);
  const V zero = hn::Zero(d);
  // x + x: infinity and NaN pass through, and a signalling NaN becomes quiet.
  const V special = hn::IfThenElse(hn::Eq(x, zero), hn::Set(d, -kInfinity),
                                   hn::IfThenElse(hn::Lt(x, zero), hn::NaN(d), hn::Add(x, x)));
  return hn::IfThenElse(hn::And(hn::Gt(x, zero), hn::Lt(x, infinity)), y, special);
}

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
  const V round = hn::Set(d, numerics::ExpConstants<double>::kRound);
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

/// sin(x) and cos(x), double. Error <= 1.5 ulp. Lanes with |x| > 2^20 are left to the C library one by one;
/// their bits depend on its version, but not on the level. sin(-0) = -0; infinities and NaN give NaN. Cost:
/// about 60 operations.
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
  const V round = hn::Set(d, numerics::ExpConstants<double>::kRound);
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

// The quantile of the normal law. The ranges and the shape of the approximations are those of Wichura
// (algorithm AS 241, Applied Statistics 37, 1988), with our own fits. With q = p - 1/2 in the middle, and
// root = sqrt(-log min(p, 1 - p)) in the tails,
//
//   x = q sqrt(2 pi) + q (q^2 G(q^2)),   |x| = root + H(root),
//
// where the second terms are at most 0.42 of the first, so that their rounding errors weigh less.

template <class D, class V, std::size_t kCount>
HWY_INLINE V Rational(D d, V x, const double (&numerator)[kCount], const double (&denominator)[kCount]) {
  return hn::Div(Polynomial<Separate>(d, x, numerator), Polynomial<Separate>(d, x, denominator));
}

/// The x with P(Z <= x) = p, Z standard normal, double. Error <= 3 ulp for every p, down to the smallest
/// subnormal and on both sides of 1/2. Edges: 0 -> -inf, 1/2 -> 0, 1 -> +inf, NaN and p outside [0, 1] ->
/// NaN. Cost: about 40 operations when all lanes are within 0.425 of 1/2, otherwise about 130 with two or
/// three divisions.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V NormalInverse(D d, V p) {
  // G as a function of 0.425^2 - q^2, all coefficients positive; relative error of x 2^-55.2
  static constexpr double kMiddleTop[] = {0x1.37fc2a497deaap+2,  0x1.7be461e585a3fp+7,  0x1.5b7e78e665656p+11,
                                          0x1.29566697edeb8p+14, 0x1.e2f7c0cbf2e94p+15, 0x1.4dc6cf17ec6a3p+16,
                                          0x1.1b5bb2500db95p+15, 0x1.1961a2bcc0379p+9};
  static constexpr double kMiddleBottom[] = {1.0,
                                             0x1.67ea75fc73235p+5,
                                             0x1.8ae700803080cp+9,
                                             0x1.acce722eb9e59p+12,
                                             0x1.e306e159d149bp+14,
                                             0x1.0ea48fbf9fd72p+16,
                                             0x1.06973d30cde5ap+16,
                                             0x1.33b3e1802a080p+14};
  constexpr double kRootTwoPi = 0x1.40d931ff62706p+1, kRootTwoPiLow = -0x1.a6a0d6f814637p-53;
  // H as a function of root - 1.6 up to root = 5, relative error of x 2^-55.5
  static constexpr double kTailTop[] = {-0x1.6999cdd823977p-3, 0x1.6158ccb888e8ep-2, 0x1.08d1a76c95e2ep+0,
                                        0x1.bccbda74c2e58p-1,  0x1.6095d7149bf48p-2, 0x1.1cbe89fbe07a8p-4,
                                        0x1.b4df26e69542cp-8,  0x1.dd2722e9c6042p-13};
  static constexpr double kTailBottom[] = {0x1.0000000000000p+0,  0x1.06edc779a0528p+1, 0x1.ad991ead967a1p+0,
                                           0x1.61c06e0bd4d3fp-1,  0x1.2ffff130789bdp-3, 0x1.f35005ab355dap-7,
                                           0x1.1fd273b5761f5p-11, 0x1.ecb65e44b91c5p-29};
  // H as a function of root - 5 up to root = 27.5, beyond the smallest subnormal; relative error of x 2^-54.1
  static constexpr double kFarTop[] = {0x1.a86c704fb949ap+0,  0x1.76d05d9144d84p+0, 0x1.ffede6c64f7bdp-2,
                                       0x1.5cae7f801eb8fp-4,  0x1.f8e42e5a80cf4p-8, 0x1.7bbc56aaec920p-12,
                                       0x1.090306aa6cdcep-17, 0x1.f5ac9bd4c0af0p-25};
  static constexpr double kFarBottom[] = {0x1.0000000000000p+0,  0x1.32f5205336332p-1,  0x1.18193f42de938p-3,
                                          0x1.e6659bdb1f929p-7,  0x1.9b1d632504dc1p-11, 0x1.3416fb2fcfe10p-16,
                                          0x1.2ec7cd3ce3a8cp-23, 0x1.eafa4c975b187p-48};
  const V half = hn::Set(d, 0.5);
  const V q = hn::Sub(p, half);
  const auto middle = hn::Le(hn::Abs(q), hn::Set(d, 0.425));
  const V square = hn::Mul(q, q);
  const V G = Rational(d, hn::Sub(hn::Set(d, 0.180625), square), kMiddleTop, kMiddleBottom);
  const V slope_rest = hn::Add(hn::Mul(square, G), hn::Set(d, kRootTwoPiLow));
  const V y = hn::Add(hn::Mul(q, hn::Set(d, kRootTwoPi)), hn::Mul(q, slope_rest));
  if (hn::AllTrue(d, middle)) return y;

  const V smaller = hn::IfThenElse(hn::Lt(p, half), p, hn::Sub(hn::Set(d, 1.0), p));
  const V root = hn::Sqrt(hn::Neg(Log(d, smaller)));
  const auto far = hn::Gt(root, hn::Set(d, 5.0));
  V H = Rational(d, hn::Sub(root, hn::Set(d, 1.6)), kTailTop, kTailBottom);
  if (HWY_UNLIKELY(!hn::AllFalse(d, far))) {
    H = hn::IfThenElse(far, Rational(d, hn::Sub(root, hn::Set(d, 5.0)), kFarTop, kFarBottom), H);
    // root is infinite at p = 0 and 1, and H undefined.
    H = hn::IfThenZeroElse(hn::Eq(smaller, hn::Zero(d)), H);
  }
  return hn::IfThenElse(middle, y, hn::CopySign(hn::Add(root, H), q));
}

}  // namespace largo::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // include guard toggled per target
