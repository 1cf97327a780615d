// The quantile of the normal law on Highway vectors. Included through simd_math-inl.hpp.
//
// The ranges and the shape of the approximations are those of Wichura (algorithm AS 241, Applied Statistics
// 37, 1988), with our own fits. With q = p - 1/2 in the middle, and root = sqrt(-log min(p, 1 - p)) in the
// tails,
//
//   x = q sqrt(2 pi) + q (q^2 G(q^2)),   |x| = root + H(root),
//
// where the second terms are at most 0.42 of the first, so that their rounding errors weigh less.
#if defined(LARGO_NUMERICS_SIMD_NORMAL_INVERSE_INL_HPP_) == defined(HWY_TARGET_TOGGLE)
#ifdef LARGO_NUMERICS_SIMD_NORMAL_INVERSE_INL_HPP_
#undef LARGO_NUMERICS_SIMD_NORMAL_INVERSE_INL_HPP_
#else
#define LARGO_NUMERICS_SIMD_NORMAL_INVERSE_INL_HPP_
#endif

#include <cstddef>

#include "hwy/highway.h"
#include "numerics/simd_exp_log-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace largo {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

template <class D, class V, std::size_t kCount>
HWY_INLINE V Rational(D d, V x, const double (&numerator)[kCount], const double (&denominator)[kCount]) {
  return hn::Div(Polynomial<Separate>(d, x, numerator), Polynomial<Separate>(d, x, denominator));
}

/// The x with P(Z <= x) = p, Z standard normal, double. Error <= 3 ulp for every p, down to the smallest
/// subnormal and on both sides of 1/2. Edges: 0 -> -inf, 1/2 -> 0, 1 -> +inf, NaN and p outside [0, 1] ->
/// NaN. Cost: about 40 operations when all lanes are within 0.425 of 1/2, else about 130, two or three
/// divisions.
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

}  // namespace HWY_NAMESPACE
}  // namespace largo
HWY_AFTER_NAMESPACE();

#endif  // include guard toggled per target
