// exp and log on Highway vectors, and the polynomial evaluation they share with the other functions.
// Included through simd_math-inl.hpp, whose head says what holds for all of them.
#if defined(LARGO_NUMERICS_SIMD_EXP_LOG_INL_HPP_) == defined(HWY_TARGET_TOGGLE)
#ifdef LARGO_NUMERICS_SIMD_EXP_LOG_INL_HPP_
#undef LARGO_NUMERICS_SIMD_EXP_LOG_INL_HPP_
#else
#define LARGO_NUMERICS_SIMD_EXP_LOG_INL_HPP_
#endif

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "hwy/highway.h"
#include "numerics/function_constants.hpp"
#include "numerics/simd_multiply_add-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace largo {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

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
  using C = ExpConstants<T>;
  const hn::RebindToUnsigned<D> du;
  const V one = hn::Set(d, T{1});
  const V round = hn::Set(d, C::kRound);
  const V n_bits = hn::Add(hn::Mul(x, hn::Set(d, C::kLog2E)), round);
  const V n = hn::Sub(n_bits, round);

  const V r_high = hn::Sub(x, hn::Mul(n, hn::Set(d, C::kLn2High)));  // exact
  const V correction = hn::Sub(hn::Mul(n, hn::Set(d, C::kLn2Low)), tail);
  const V r = hn::Sub(r_high, correction);
  const V r_low = hn::Sub(hn::Sub(r_high, r), correction);

  // 1 + r + (r_low + r^2 p(r)), the rounding error of 1 + r kept: the sum is rounded once.
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

/// exp(x), float or double; error, edges and cost of ExpSum.
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
  const V round = hn::Set(d, ExpConstants<float>::kRound);
  const V n_bits = hn::Add(x, round);
  const V r = hn::Sub(x, hn::Sub(n_bits, round));
  const V mantissa =
      Rounding::MulAdd(r, Polynomial<Rounding>(d, r, Exp2Constants::kPolynomial), hn::Set(d, 1.0F));
  const auto exponent = hn::ShiftLeft<ExpConstants<float>::kMantissaBits>(hn::BitCast(du, n_bits));
  const V y = hn::BitCast(d, hn::Add(hn::BitCast(du, mantissa), exponent));
  return hn::IfThenZeroElse(hn::Lt(x, hn::Set(d, Exp2Constants::kZeroBelow)), y);
}

/// log(x) + exponent_shift log 2 for positive, normal, finite x.
/// x = 2^k (1 + f), 1 + f in [sqrt(1/2), sqrt(2)); with s = f/(2 + f),
/// log(1 + f) = f - f^2/2 + s (f^2/2 + R(s^2)), summed with the error of the large terms kept.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V LogOfNormal(D d, V x, V exponent_shift) {
  const hn::RebindToUnsigned<D> du;
  using C = LogConstants;
  const auto offset = hn::Sub(hn::BitCast(du, x), hn::Set(du, C::kRootHalfBits - (C::kBias << 52)));
  const V m =
      hn::BitCast(d, hn::Add(hn::And(offset, hn::Set(du, C::kMantissaMask)), hn::Set(du, C::kRootHalfBits)));
  const V k_plus = hn::BitCast(d, hn::Or(hn::ShiftRight<52>(offset), hn::Set(du, C::kTwo52Bits)));
  const V k = hn::Add(hn::Sub(k_plus, hn::Set(d, 0x1p52 + C::kBias)), exponent_shift);

  const V f = hn::Sub(m, hn::Set(d, 1.0));
  const V s = hn::Div(f, hn::Add(f, hn::Set(d, 2.0)));
  const V z = hn::Mul(s, s);
  const V R = hn::Mul(z, Polynomial<Separate>(d, z, C::kR));
  const V half_square = hn::Mul(hn::Mul(hn::Set(d, 0.5), f), f);
  const V head = hn::Sub(f, half_square);
  const V head_low = hn::Sub(hn::Sub(f, head), half_square);
  const V k_high = hn::Mul(k, hn::Set(d, ExpConstants<double>::kLn2High));  // exact
  const V sum = hn::Add(k_high, head);
  const V sum_low = hn::Add(hn::Sub(k_high, sum), head);
  const V small = hn::Add(hn::Add(head_low, hn::Mul(s, hn::Add(half_square, R))),
                          hn::Mul(k, hn::Set(d, ExpConstants<double>::kLn2Low)));
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

}  // namespace HWY_NAMESPACE
}  // namespace largo
HWY_AFTER_NAMESPACE();

#endif  // include guard toggled per target
