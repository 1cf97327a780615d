// Standard normals in float32 from 32 + 32 random bits per pair, on Highway vectors, with the same bits at
// every level. Private: included once per SIMD level through hwy/foreach_target.h.
#if defined(LARGO_RANDOM_FLOAT_NORMALS_INL_HPP_) == defined(HWY_TARGET_TOGGLE)
#ifdef LARGO_RANDOM_FLOAT_NORMALS_INL_HPP_
#undef LARGO_RANDOM_FLOAT_NORMALS_INL_HPP_
#else
#define LARGO_RANDOM_FLOAT_NORMALS_INL_HPP_
#endif

#include <cstddef>
#include <cstdint>

#include "numerics/function_constants.hpp"
#include "numerics/simd_math-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace largo::HWY_NAMESPACE {

/// `yes` where the upper bit is set, otherwise `no`.
template <class DF, class VU, class VF = hn::Vec<DF>>
HWY_INLINE VF SelectByUpperBit(DF df, VU bits, VF yes, VF no) {
  const hn::RebindToSigned<DF> di;
  auto sign = hn::BitCast(di, bits);
#if HWY_TARGET == HWY_SSSE3
  sign = hn::BroadcastSignBit(sign);  // the selection of SSSE3 reads every bit
#endif
  return hn::BitCast(df, hn::IfNegativeThenElse(sign, hn::BitCast(di, yes), hn::BitCast(di, no)));
}

/// r², cos θ and sin θ for kCount vectors of words, step by step together: each fills the gaps of the others.
/// - r² = -2 ln u, where u = (m + 1/2) 2^-31, rounded to float32, and m is the upper 31 bits of the first
///   word: at most 44.4, relative error 2^-21.5 given the rounded u.
/// - θ lies within ±π/4 and comes from the last 31 bits of the second word, whose upper bit exchanges cos and
///   sin. Absolute error 2^-23.
template <class DF, class VU, std::size_t kCount>
HWY_INLINE void FloatPolar(DF df, const VU (&radius)[kCount], const VU (&angle)[kCount],
                           hn::Vec<DF> (&square)[kCount], hn::Vec<DF> (&first)[kCount],
                           hn::Vec<DF> (&second)[kCount]) {
  using C = numerics::PolarConstants;
  const hn::RebindToSigned<DF> di;
  hn::Vec<DF> f[kCount], ff[kCount], even[kCount], odd[kCount], e[kCount];
  hn::Vec<DF> y[kCount], yy[kCount], sin[kCount], cos[kCount];
  for (std::size_t i = 0; i < kCount; ++i) {
    const auto m = hn::BitCast(di, hn::ShiftRight<1>(radius[i]));
    f[i] = hn::Add(hn::ConvertTo(df, m), hn::Set(df, 0.5F));  // 2^31 u
  }
  for (std::size_t i = 0; i < kCount; ++i) {
    // u = 2^e (1 + f)
    const auto from_root = hn::Sub(hn::BitCast(di, f[i]), hn::Set(di, C::kRootHalf + (31 << 23)));
    const auto mantissa = hn::Add(hn::And(from_root, hn::Set(di, 0x7fffff)), hn::Set(di, C::kRootHalf));
    f[i] = hn::Sub(hn::BitCast(df, mantissa), hn::Set(df, 1.0F));
    e[i] = hn::Mul(hn::ConvertTo(df, hn::ShiftRight<23>(from_root)), hn::Set(df, C::kMinusTwoLn2));
  }
  for (std::size_t i = 0; i < kCount; ++i) {
    ff[i] = hn::Mul(f[i], f[i]);
    even[i] = Horner<FusedExact, 4, 2>(df, ff[i], C::kLog);
    odd[i] = Horner<FusedExact, 5, 2>(df, ff[i], C::kLog);
  }
  for (std::size_t i = 0; i < kCount; ++i) {
    even[i] = FusedExact::MulAdd(even[i], ff[i], hn::Set(df, C::kLog[2]));
    odd[i] = FusedExact::MulAdd(odd[i], ff[i], hn::Set(df, C::kLog[3]));
  }
  for (std::size_t i = 0; i < kCount; ++i) {
    even[i] = FusedExact::MulAdd(even[i], ff[i], hn::Set(df, C::kLog[0]));
    odd[i] = FusedExact::MulAdd(odd[i], ff[i], hn::Set(df, C::kLog[1]));
  }
  for (std::size_t i = 0; i < kCount; ++i) {
    even[i] = FusedExact::MulAdd(f[i], odd[i], even[i]);
    y[i] = hn::Mul(hn::ConvertTo(df, hn::BitCast(di, hn::ShiftLeft<1>(angle[i]))), hn::Set(df, 0x1p-31F));
  }
  for (std::size_t i = 0; i < kCount; ++i) {
    square[i] = FusedExact::MulAdd(f[i], even[i], e[i]);
    yy[i] = hn::Mul(y[i], y[i]);
  }
  for (std::size_t i = 0; i < kCount; ++i) {
    sin[i] = Horner<FusedExact, 2, 1>(df, yy[i], C::kSin);
    cos[i] = Horner<FusedExact, 2, 1>(df, yy[i], C::kCos);
  }
  for (std::size_t i = 0; i < kCount; ++i) {
    sin[i] = FusedExact::MulAdd(sin[i], yy[i], hn::Set(df, C::kSin[1]));
    cos[i] = FusedExact::MulAdd(cos[i], yy[i], hn::Set(df, C::kCos[1]));
  }
  for (std::size_t i = 0; i < kCount; ++i) {
    sin[i] = hn::Mul(y[i], FusedExact::MulAdd(sin[i], yy[i], hn::Set(df, C::kSin[0])));
    cos[i] = FusedExact::MulAdd(cos[i], yy[i], hn::Set(df, C::kCos[0]));
    first[i] = SelectByUpperBit(df, angle[i], sin[i], cos[i]);
    second[i] = SelectByUpperBit(df, angle[i], cos[i], sin[i]);
  }
}

/// The last bit as a sign.
template <class DF, class VU>
HWY_INLINE hn::Vec<DF> SignOf(DF df, VU word) {
  return hn::BitCast(df, hn::ShiftLeft<31>(word));
}

/// Pairs of independent standard normals by the method of Box and Muller, ±r (cos θ, sin θ). The sign, which
/// is the last bit of the first word, and the exchange of cos and sin give all four quadrants. r has a
/// relative error of 2^-22.
template <class DF, class VU, std::size_t kCount>
HWY_INLINE void FloatNormals(DF df, const VU (&radius)[kCount], const VU (&angle)[kCount],
                             hn::Vec<DF> (&first)[kCount], hn::Vec<DF> (&second)[kCount]) {
  hn::Vec<DF> square[kCount];
  FloatPolar(df, radius, angle, square, first, second);
  for (std::size_t i = 0; i < kCount; ++i) {
    const hn::Vec<DF> r = hn::Xor(hn::Sqrt(square[i]), SignOf(df, radius[i]));
    first[i] = hn::Mul(r, first[i]);
    second[i] = hn::Mul(r, second[i]);
  }
}

}  // namespace largo::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // include guard toggled per target
