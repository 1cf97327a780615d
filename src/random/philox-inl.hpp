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

#include <cstddef>
#include <cstdint>

#include "numerics/simd-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace largo::HWY_NAMESPACE {

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

/// The terms that the rounds add for all counters that agree in their upper three words: the keys and, in the
/// first rounds, what follows from the fixed words. Replicated to the lanes once, and read by every counter,
/// also by those of vectors with fewer lanes than D.
template <class D>
struct PhiloxRow {
  static constexpr std::size_t kLanes = hn::MaxLanes(D());

  /// Counters (c, counter_high) with c >> 32 = counter_middle.
  HWY_INLINE PhiloxRow(std::uint64_t key, std::uint64_t counter_high, std::uint64_t counter_middle) {
    constexpr std::uint64_t kLower = 0xffffffff;
    std::uint64_t key0[kPhiloxRounds], key1[kPhiloxRounds];
    for (std::uint64_t round = 0; round < kPhiloxRounds; ++round) {
      key0[round] = (key + round * 0x9E3779B9) & kLower;
      key1[round] = ((key >> 32) + round * 0xBB67AE85) & kLower;
    }
    // Before round 0 x1, x2 and x3 are fixed; after it x0 and x1 are, after round 1 x3, after round 2 none.
    const std::uint64_t product1 = (counter_high & kLower) * 0xCD9E8D57;
    const std::uint64_t x0 = product1 >> 32 ^ counter_middle ^ key0[0];
    const std::uint64_t product0 = x0 * 0xD2511F53;
    set(0, 0, counter_high >> 32 ^ key1[0]);
    set(1, 0, (product1 & kLower) ^ key0[1]);
    set(1, 1, product0 >> 32 ^ key1[1]);
    set(2, 0, key0[2]);
    set(2, 1, (product0 & kLower) ^ key1[2]);
    for (std::size_t round = 3; round < kPhiloxRounds; ++round) {
      set(round, 0, key0[round]);
      set(round, 1, key1[round]);
    }
    set(kPhiloxRounds - 1, 1, key1[kPhiloxRounds - 1] << 32);  // see the last round
  }

  HWY_INLINE void set(std::size_t round, std::size_t which, std::uint64_t value) {
    hn::Store(hn::Set(D(), value), D(), terms[round][which]);
  }

  template <class Narrow>
  HWY_INLINE hn::Vec<Narrow> term(Narrow d, std::size_t round, std::size_t which) const {
    static_assert(hn::MaxLanes(d) <= kLanes);
    return hn::Load(d, terms[round][which]);
  }

  alignas(64) std::uint64_t terms[kPhiloxRounds][2][kLanes];
};

/// kCount vectors of counters of a row, which go through the rounds together: one alone would spend most of
/// its time waiting for multiplications, and a caller can do other work between the rounds.
template <class D, std::size_t kCount>
struct PhiloxCounters {
  using V = hn::Vec<D>;

  /// The counters are `distance` apart from one vector to the next.
  HWY_INLINE PhiloxCounters(V first, std::size_t distance) {
    for (std::size_t i = 0; i < kCount; ++i)
      x0[i] = hn::Add(first, hn::Set(D(), std::uint64_t{i * distance}));
  }

  template <std::size_t kRound, class Wide>
  HWY_INLINE void Round(const PhiloxRow<Wide>& row) {
    const D d;
    const V multiplier0 = hn::Set(d, 0xD2511F53);
    const V multiplier1 = hn::Set(d, 0xCD9E8D57);
    const V term0 = row.term(d, kRound, 0);
    const V term1 = row.term(d, kRound, 1);
    for (std::size_t i = 0; i < kCount; ++i) {
      if constexpr (kRound == 0) {
        x3[i] = MulLowerHalves(d, x0[i], multiplier0);
        x2[i] = hn::Xor(hn::ShiftRight<32>(x3[i]), term0);
      } else if constexpr (kRound == 1) {
        x1[i] = MulLowerHalves(d, x2[i], multiplier1);
        x0[i] = hn::Xor(hn::ShiftRight<32>(x1[i]), term0);
        x2[i] = hn::Xor(x3[i], term1);
      } else if constexpr (kRound == 2) {
        const V product0 = MulLowerHalves(d, x0[i], multiplier0);
        const V product1 = MulLowerHalves(d, x2[i], multiplier1);
        x0[i] = hn::Xor(hn::ShiftRight<32>(product1), hn::Xor(x1[i], term0));
        x2[i] = hn::Xor(hn::ShiftRight<32>(product0), term1);
        x1[i] = product1;
        x3[i] = product0;
      } else if constexpr (kRound + 1 < kPhiloxRounds) {
        const V product0 = MulLowerHalves(d, x0[i], multiplier0);
        const V product1 = MulLowerHalves(d, x2[i], multiplier1);
        x0[i] = hn::Xor(hn::ShiftRight<32>(product1), hn::Xor(x1[i], term0));
        x2[i] = hn::Xor(hn::ShiftRight<32>(product0), hn::Xor(x3[i], term1));
        x1[i] = product1;
        x3[i] = product0;
      } else {
        // Words 2 and 3 go to the upper halves, where the high word of the product already is.
        const V product0 = MulLowerHalves(d, x0[i], multiplier0);
        const V product1 = MulLowerHalves(d, x2[i], multiplier1);
        x0[i] = hn::Xor(hn::ShiftRight<32>(product1), hn::Xor(x1[i], term0));
        x2[i] = hn::Xor(product0, hn::Xor(hn::ShiftLeft<32>(x3[i]), term1));
        x1[i] = product1;
        x3[i] = hn::ShiftLeft<32>(product0);
      }
    }
  }

  /// After the last round, words 0 and 1 are in the lower halves of x0 and x1, words 2 and 3 in the upper
  /// halves of x2 and x3.
  V x0[kCount], x1[kCount], x2[kCount], x3[kCount];
};

}  // namespace largo::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // include guard toggled per target
