// Philox4x32-10 on Highway vectors. Private: included once per SIMD level through hwy/foreach_target.h.
//
// Each 64-bit lane works on one counter. The four 32-bit words sit in the lower halves of four vectors; what
// the rounds leave in the upper halves is never read, because the 32 x 32 -> 64 bit product ignores it.
#if defined(LARGO_SAMPLING_PHILOX_INL_HPP_) == defined(HWY_TARGET_TOGGLE)
#ifdef LARGO_SAMPLING_PHILOX_INL_HPP_
#undef LARGO_SAMPLING_PHILOX_INL_HPP_
#else
#define LARGO_SAMPLING_PHILOX_INL_HPP_
#endif

#include <cstdint>

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace largo {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// The 64-bit products of the lower halves.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V MulLowerHalves(D d, V a, V b) {
#if HWY_TARGET == HWY_SCALAR
  // One lane has no halves to reinterpret.
  constexpr std::uint64_t kLower = 0xffffffff;
  return hn::Set(d, (hn::GetLane(a) & kLower) * (hn::GetLane(b) & kLower));
#else
  (void)d;
  const hn::Repartition<std::uint32_t, D> d32;
  return hn::MulEven(hn::BitCast(d32, a), hn::BitCast(d32, b));
#endif
}

inline constexpr int kPhiloxRounds = 10;

template <class D, class V = hn::Vec<D>>
HWY_INLINE void PhiloxRound(D d, V key0, V key1, V& x0, V& x1, V& x2, V& x3) {
  const V product0 = MulLowerHalves(d, x0, hn::Set(d, 0xD2511F53));
  const V product1 = MulLowerHalves(d, x2, hn::Set(d, 0xCD9E8D57));
  x0 = hn::Xor(hn::Xor(hn::ShiftRight<32>(product1), x1), key0);
  x2 = hn::Xor(hn::Xor(hn::ShiftRight<32>(product0), x3), key1);
  x1 = product1;
  x3 = product0;
}

template <class D, class V = hn::Vec<D>>
HWY_INLINE void NextKey(D d, V& key0, V& key1) {
  key0 = hn::Add(key0, hn::Set(d, 0x9E3779B9));
  key1 = hn::Add(key1, hn::Set(d, 0xBB67AE85));
}

/// Output words (0, 1) in `even` and (2, 3) in `odd`, low word first, of the counters (counter,
/// counter_high).
template <class D, class V = hn::Vec<D>>
HWY_INLINE void Philox(D d, V counter, std::uint64_t counter_high, std::uint64_t key, V& even, V& odd) {
  V key0 = hn::Set(d, key);
  V key1 = hn::Set(d, key >> 32);
  V x0 = counter;
  V x1 = hn::ShiftRight<32>(counter);
  V x2 = hn::Set(d, counter_high);
  V x3 = hn::Set(d, counter_high >> 32);
  for (int round = 0; round < kPhiloxRounds; ++round) {
    PhiloxRound(d, key0, key1, x0, x1, x2, x3);
    NextKey(d, key0, key1);
  }
  const V lower = hn::Set(d, 0xffffffff);
  even = hn::Or(hn::And(x0, lower), hn::ShiftLeft<32>(x1));
  odd = hn::Or(hn::And(x2, lower), hn::ShiftLeft<32>(x3));
}

}  // namespace HWY_NAMESPACE
}  // namespace largo
HWY_AFTER_NAMESPACE();

#endif  // include guard toggled per target
