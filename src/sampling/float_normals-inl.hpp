// Standard normals in float32 from 32 + 32 random bits a pair, on Highway vectors. Private: included once per
// SIMD level through hwy/foreach_target.h. The same bits at every level: no fused operations.
#if defined(LARGO_SAMPLING_FLOAT_NORMALS_INL_HPP_) == defined(HWY_TARGET_TOGGLE)
#ifdef LARGO_SAMPLING_FLOAT_NORMALS_INL_HPP_
#undef LARGO_SAMPLING_FLOAT_NORMALS_INL_HPP_
#else
#define LARGO_SAMPLING_FLOAT_NORMALS_INL_HPP_
#endif

#include <cstdint>

#include "hwy/highway.h"
#include "numerics/simd_exp_log-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace largo {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// √(-2 ln u), u = (m + 1/2) 2^-31 with m the upper 31 bits, rounded to float32: at most 6.66. Relative error
/// 2^-22, of u rounded.
template <class DF, class VU>
HWY_INLINE hn::Vec<DF> FloatRadius(DF df, VU bits) {
  // ln(1 + f)/f on √½ - 1 <= f <= √2 - 1, error 2^-24.8
  static constexpr float kLog[] = {1.0F,           -0x1.fffff6p-2F, 0x1.5556fap-2F, -0x1.0005c4p-2F,
                                   0x1.98d2e8p-3F, -0x1.532f9p-3F,  0x1.3156dap-3F, -0x1.26150cp-3F,
                                   0x1.69412cp-4F};
  const hn::RebindToSigned<DF> di;
  const auto m = hn::BitCast(di, hn::ShiftRight<1>(bits));
  const auto u = hn::Add(hn::ConvertTo(df, m), hn::Set(df, 0.5F));  // 2^31 times u
  // u = 2^e (1 + f)
  const auto from_root = hn::Sub(hn::BitCast(di, u), hn::Set(di, 0x3f3504f3));
  const auto e = hn::ShiftRight<23>(from_root);
  const auto f =
      hn::Sub(hn::BitCast(df, hn::Sub(hn::BitCast(di, u), hn::ShiftLeft<23>(e))), hn::Set(df, 1.0F));
  const auto exponent = hn::ConvertTo(df, hn::Sub(e, hn::Set(di, 31)));
  const auto log = hn::Mul(f, Polynomial<Separate>(df, f, kLog));
  const auto square =
      hn::Add(hn::Mul(exponent, hn::Set(df, -1.3862943611198906F)), hn::Mul(hn::Set(df, -2.0F), log));
  return hn::Sqrt(hn::Max(square, hn::Zero(df)));
}

/// cos and sin of a uniform angle: the upper two bits choose the quadrant, the others the angle in it, within
/// π/4 of its middle. Absolute error 2^-23.
template <class DF, class VU>
HWY_INLINE void FloatCircle(DF df, VU bits, hn::Vec<DF>& first, hn::Vec<DF>& second) {
  // sin(πy/4)/y and cos(πy/4) in y², errors 2^-25.4 and 2^-31
  static constexpr float kSin[] = {0x1.921fb6p-1F, -0x1.4abbeep-4F, 0x1.466be6p-9F, -0x1.2f7c3ep-15F};
  static constexpr float kCos[] = {1.0F, -0x1.3bd3ccp-2F, 0x1.03c1b6p-6F, -0x1.55b684p-12F, 0x1.d61e28p-19F};
  const hn::RebindToSigned<DF> di;
  const hn::RebindToUnsigned<DF> du;
  const auto y = hn::Mul(hn::ConvertTo(df, hn::BitCast(di, hn::ShiftLeft<2>(bits))), hn::Set(df, 0x1p-31F));
  const auto z = hn::Mul(y, y);
  const auto sin = hn::Mul(y, Horner<Separate, 0, 1>(df, z, kSin));
  const auto cos = Horner<Separate, 0, 1>(df, z, kCos);
  // Four quadrants: swapped or not, both negated or not. (The sign of sin is free.)
  const auto swap = hn::RebindMask(df, hn::TestBit(bits, hn::Set(du, 0x40000000U)));
  const auto sign = hn::BitCast(df, hn::And(bits, hn::Set(du, 0x80000000U)));
  first = hn::Xor(hn::IfThenElse(swap, sin, cos), sign);
  second = hn::Xor(hn::IfThenElse(swap, cos, sin), sign);
}

/// Two independent standard normals.
template <class DF, class VU>
HWY_INLINE void FloatNormals(DF df, VU radius_bits, VU angle_bits, hn::Vec<DF>& first, hn::Vec<DF>& second) {
  hn::Vec<DF> cos, sin;
  FloatCircle(df, angle_bits, cos, sin);
  const auto radius = FloatRadius(df, radius_bits);
  first = hn::Mul(radius, cos);
  second = hn::Mul(radius, sin);
}

}  // namespace HWY_NAMESPACE
}  // namespace largo
HWY_AFTER_NAMESPACE();

#endif  // include guard toggled per target
