// Standard normals in float32 from 32 + 32 random bits a pair, on Highway vectors. Private: included once per
// SIMD level through hwy/foreach_target.h. The same bits at every level: no fused operations.
#if defined(LARGO_SAMPLING_FLOAT_NORMALS_INL_HPP_) == defined(HWY_TARGET_TOGGLE)
#ifdef LARGO_SAMPLING_FLOAT_NORMALS_INL_HPP_
#undef LARGO_SAMPLING_FLOAT_NORMALS_INL_HPP_
#else
#define LARGO_SAMPLING_FLOAT_NORMALS_INL_HPP_
#endif

#include <cstddef>
#include <cstdint>
#include <utility>

#include "hwy/highway.h"
#include "numerics/simd_exp_log-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace largo {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// yes where the upper bit is set, else no.
template <class DF, class VU, class VF = hn::Vec<DF>>
HWY_INLINE VF SelectByUpperBit(DF df, VU bits, VF yes, VF no) {
  const hn::RebindToSigned<DF> di;
  auto sign = hn::BitCast(di, bits);
#if HWY_TARGET == HWY_SSSE3
  sign = hn::BroadcastSignBit(sign);  // its selection reads every bit
#endif
  return hn::BitCast(df, hn::IfNegativeThenElse(sign, hn::BitCast(di, yes), hn::BitCast(di, no)));
}

/// Pairs of independent standard normals by Box and Muller's method, ±r (cos θ, sin θ), kCount vectors at a
/// time, in ten steps between which a caller can put the rounds of a generator: neither keeps a core busy
/// alone.
/// - r = √(-2 ln u), u = (m + 1/2) 2^-31 with m the upper 31 bits of the first word, rounded to float32: at
///   most 6.66, relative error 2^-22, of u rounded. The last bit of that word is the sign.
/// - θ lies within ±π/4, in the last 31 bits of the second word, whose upper bit exchanges cos and sin: with
///   the sign, four quadrants. Absolute error 2^-23.
template <class DF, std::size_t kCount>
struct FloatNormals {
  using V = hn::Vec<DF>;
  using DU = hn::RebindToUnsigned<DF>;
  using VU = hn::Vec<DU>;

  HWY_INLINE void Start(std::size_t i, VU radius_bits, VU angle_bits) {
    sign[i] = radius_bits;
    swap[i] = angle_bits;
  }

  template <std::size_t kStep>
  HWY_INLINE void Step() {
    // -2 ln(1 + f)/f on √½ - 1 <= f <= √2 - 1, relative error 2^-22.4: r is its root
    static constexpr float kLog[] = {-0x1.fffffep0F,  0x1.00007ap0F,  -0x1.5559dcp-1F, 0x1.ff623cp-2F,
                                     -0x1.978e2ep-2F, 0x1.614c06p-2F, -0x1.4c3d0ap-2F, 0x1.9dfa82p-3F};
    // sin(πy/4)/y and cos(πy/4) in y², errors 2^-27.5 and 2^-24.8
    static constexpr float kSin[] = {0x1.921fb4p-1F, -0x1.4abb68p-4F, 0x1.46496cp-9F, -0x1.2a7638p-15F};
    static constexpr float kCos[] = {1.0F, -0x1.3bd3a0p-2F, 0x1.03b11ep-6F, -0x1.4e9b00p-12F};
    constexpr std::int32_t kRootHalf = 0x3f3504f3;
    const DF df;
    const hn::RebindToSigned<DF> di;
    for (std::size_t i = 0; i < kCount; ++i) {
      if constexpr (kStep == 0) {
        const auto m = hn::BitCast(di, hn::ShiftRight<1>(sign[i]));
        f[i] = hn::Add(hn::ConvertTo(df, m), hn::Set(df, 0.5F));  // 2^31 u
        y[i] = hn::Mul(hn::ConvertTo(df, hn::BitCast(di, hn::ShiftLeft<1>(swap[i]))), hn::Set(df, 0x1p-31F));
      } else if constexpr (kStep == 1) {
        // u = 2^e (1 + f)
        const auto from_root = hn::Sub(hn::BitCast(di, f[i]), hn::Set(di, kRootHalf + (31 << 23)));
        const auto mantissa = hn::Add(hn::And(from_root, hn::Set(di, 0x7fffff)), hn::Set(di, kRootHalf));
        f[i] = hn::Sub(hn::BitCast(df, mantissa), hn::Set(df, 1.0F));
        e[i] = hn::ConvertTo(df, hn::ShiftRight<23>(from_root));
        yy[i] = hn::Mul(y[i], y[i]);
      } else if constexpr (kStep == 2) {
        ff[i] = hn::Mul(f[i], f[i]);
        e[i] = hn::Mul(e[i], hn::Set(df, -1.3862943611198906F));
        sin[i] = Horner<Separate, 2, 1>(df, yy[i], kSin);
        cos[i] = Horner<Separate, 2, 1>(df, yy[i], kCos);
      } else if constexpr (kStep == 3) {
        even[i] = Horner<Separate, 4, 2>(df, ff[i], kLog);
        odd[i] = Horner<Separate, 5, 2>(df, ff[i], kLog);
        sin[i] = Separate::MulAdd(sin[i], yy[i], hn::Set(df, kSin[1]));
        cos[i] = Separate::MulAdd(cos[i], yy[i], hn::Set(df, kCos[1]));
      } else if constexpr (kStep == 4) {
        even[i] = Separate::MulAdd(even[i], ff[i], hn::Set(df, kLog[2]));
        odd[i] = Separate::MulAdd(odd[i], ff[i], hn::Set(df, kLog[3]));
        sin[i] = Separate::MulAdd(sin[i], yy[i], hn::Set(df, kSin[0]));
        cos[i] = Separate::MulAdd(cos[i], yy[i], hn::Set(df, kCos[0]));
      } else if constexpr (kStep == 5) {
        even[i] = Separate::MulAdd(even[i], ff[i], hn::Set(df, kLog[0]));
        odd[i] = Separate::MulAdd(odd[i], ff[i], hn::Set(df, kLog[1]));
        sin[i] = hn::Mul(sin[i], y[i]);
      } else if constexpr (kStep == 6) {
        first[i] = SelectByUpperBit(df, swap[i], sin[i], cos[i]);
        second[i] = SelectByUpperBit(df, swap[i], cos[i], sin[i]);
      } else if constexpr (kStep == 7) {
        f[i] = hn::Mul(f[i], Separate::MulAdd(f[i], odd[i], even[i]));
      } else if constexpr (kStep == 8) {
        f[i] = hn::Add(e[i], f[i]);
      } else {
        const V r = hn::Xor(hn::Sqrt(f[i]), Sign(i));
        first[i] = hn::Mul(r, first[i]);
        second[i] = hn::Mul(r, second[i]);
      }
    }
  }

  /// r² after step 8.
  HWY_INLINE V Square(std::size_t i) const { return f[i]; }
  HWY_INLINE V Sign(std::size_t i) const { return hn::BitCast(DF(), hn::ShiftLeft<31>(sign[i])); }

  V first[kCount], second[kCount];

 private:
  VU sign[kCount], swap[kCount];
  V f[kCount], ff[kCount], even[kCount], odd[kCount], e[kCount];
  V y[kCount], yy[kCount], sin[kCount], cos[kCount];
};

/// r² and ±cos θ alone.
template <class DF, class VU>
HWY_INLINE void FloatPolar(DF df, VU radius_bits, VU angle_bits, hn::Vec<DF>& square, hn::Vec<DF>& cosine) {
  (void)df;
  FloatNormals<DF, 1> pair;
  pair.Start(0, radius_bits, angle_bits);
  [&]<std::size_t... kStep>(std::index_sequence<kStep...>) HWY_ATTR { (pair.template Step<kStep>(), ...); }
  (std::make_index_sequence<9>());
  square = pair.Square(0);
  cosine = hn::Xor(pair.first[0], pair.Sign(0));
}

}  // namespace HWY_NAMESPACE
}  // namespace largo
HWY_AFTER_NAMESPACE();

#endif  // include guard toggled per target
