#include "random/float_draws.hpp"

#include <algorithm>
#include <cassert>
#include <utility>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "random/float_draws.cpp"
#include "hwy/foreach_target.h"  // must precede highway.h
#include "hwy/highway.h"

#include "largo/numerics/simd_level.hpp"
#include "random/float_normals-inl.hpp"
#include "random/philox-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace largo::HWY_NAMESPACE {
namespace {

using namespace random;

using D64 = hn::CappedTag<std::uint64_t, kCountersAtOnce>;
#if HWY_TARGET == HWY_SCALAR
using D32 = hn::CappedTag<std::uint32_t, 1>;
#else
using D32 = hn::Repartition<std::uint32_t, D64>;
#endif
using DF = hn::RebindToFloat<D32>;
using V64 = hn::Vec<D64>;
using V32 = hn::Vec<D32>;
constexpr std::size_t kTokens = 2 * hn::MaxLanes(D64());   // per vector of counters
constexpr std::size_t kVectors = kTokensAtOnce / kTokens;  // of counters per group

// With vectors of 512 bits, the counters of two blocks lie side by side in one vector.
using DPair = hn::CappedTag<std::uint64_t, 2 * kCountersAtOnce>;
constexpr bool kHasPairs = hn::MaxLanes(DPair()) == 2 * kCountersAtOnce;
using Row = PhiloxRow<DPair>;
using Wide = hn::CappedTag<float, 2 * kTokensAtOnce>;

// The part of a word that a token takes: all of it, or an angle of 16 bits. An angle goes to the upper half,
// and the lower half is set to the middle of its range.
enum class Part { whole, lower_half, upper_half };

template <Part kPart>
HWY_INLINE V32 Take(V32 words) {
  const D32 d;
  if constexpr (kPart == Part::whole) return words;
  const V32 middle = hn::Set(d, 0x8000);
  if constexpr (kPart == Part::lower_half) return hn::Or(hn::ShiftLeft<16>(words), middle);
  return hn::Or(hn::And(words, hn::Set(d, 0xffff0000)), middle);
}

// The words in the lower halves of one vector, alternating with those in the upper halves of another.
class Words {
 public:
  using Counters = D64;
  static HWY_INLINE V64 First(std::uint64_t counter) { return hn::Iota(D64(), counter); }
#if HWY_TARGET == HWY_SCALAR
  Words(V64 lower, V64 upper)
      : words_{hn::Set(D32(), static_cast<std::uint32_t>(hn::GetLane(lower))),
               hn::Set(D32(), static_cast<std::uint32_t>(hn::GetLane(upper) >> 32))} {}
#else
  HWY_INLINE Words(V64 lower, V64 upper)
      : words_{hn::OddEven(hn::BitCast(D32(), upper), hn::BitCast(D32(), lower))} {}
#endif

  // Stores the bits as the type that `to` points to.
  template <Part kPart, typename T>
  HWY_INLINE void Store(T* HWY_RESTRICT to) const {
    const hn::Rebind<T, D32> dt;
    for (std::size_t i = 0; i < kTokens / hn::MaxLanes(dt); ++i) {
      hn::Store(hn::BitCast(dt, Take<kPart>(words_[i])), dt, to + i * hn::MaxLanes(dt));
    }
  }

 private:
  V32 words_[kTokens / hn::MaxLanes(D32())];
};

template <class D, std::size_t kCount, std::size_t... kRound>
HWY_INLINE void AllRounds(const Row& row, PhiloxCounters<D, kCount>& counters,
                          std::index_sequence<kRound...>) {
  (counters.template Round<kRound>(row), ...);
}

// Stores the words of a vector of counters, two tokens for each counter.
HWY_INLINE void StoreWords(D64, V64 lower, V64 upper, std::uint32_t* HWY_RESTRICT to) {
  Words(lower, upper).Store<Part::whole>(to);
}
#if HWY_TARGET <= HWY_AVX3 && HWY_MAX_BYTES >= 64
HWY_INLINE void StoreWords(DPair, hn::Vec<DPair> lower, hn::Vec<DPair> upper,
                           std::uint32_t* HWY_RESTRICT to) {
  const hn::Repartition<std::uint32_t, DPair> words;
  hn::StoreU(hn::OddEven(hn::BitCast(words, upper), hn::BitCast(words, lower)), words, to);
}
#endif

// Fills in the words of kCount vectors of counters at a time, from counter number `done` on, while there are
// `counters` in all. Returns the number of counters done.
template <std::size_t kCount, class D>
HWY_INLINE std::size_t FillWords(D d, const Row& row, std::uint64_t counter, std::size_t done,
                                 std::size_t counters, std::uint32_t* HWY_RESTRICT first,
                                 std::uint32_t* HWY_RESTRICT second) {
  constexpr std::size_t kLanes = hn::MaxLanes(d);
  hn::Vec<D> lanes = hn::Iota(d, counter + done);
  for (; done + kCount * kLanes <= counters; done += kCount * kLanes) {
    PhiloxCounters<D, kCount> drawn(lanes, kLanes);
    lanes = hn::Add(lanes, hn::Set(d, std::uint64_t{kCount * kLanes}));
    AllRounds(row, drawn, std::make_index_sequence<kPhiloxRounds>());
    for (std::size_t i = 0; i < kCount; ++i) {
      const std::size_t to = 2 * (done + i * kLanes);
      StoreWords(d, drawn.x0[i], drawn.x2[i], first + to);
      StoreWords(d, drawn.x1[i], drawn.x3[i], second + to);
    }
  }
  return done;
}

#if HWY_TARGET <= HWY_AVX3 && HWY_MAX_BYTES >= 64
// The words of two blocks: the lower half of a vector belongs to the first block.
class PairOfWords {
 public:
  using Counters = DPair;
  static HWY_INLINE hn::Vec<DPair> First(std::uint64_t counter) {
    static_assert(kHasPairs && kCountersAtOnce == 4);
    alignas(64) static constexpr std::uint64_t kOffsets[] = {
        0, 1, 2, 3, kBlockCounters, kBlockCounters + 1, kBlockCounters + 2, kBlockCounters + 3};
    return hn::Add(hn::Load(DPair(), kOffsets), hn::Set(DPair(), counter));
  }
  HWY_INLINE PairOfWords(hn::Vec<DPair> lower, hn::Vec<DPair> upper)
      : words_(hn::OddEven(hn::BitCast(D(), upper), hn::BitCast(D(), lower))) {}

  template <Part kPart>
  HWY_INLINE void Store(float* HWY_RESTRICT to) const {
    hn::Store(hn::BitCast(DF(), Take<kPart>(hn::LowerHalf(D32(), words_))), DF(), to);
    hn::Store(hn::BitCast(DF(), Take<kPart>(hn::UpperHalf(D32(), words_))), DF(),
              to + kGroupsInBlock * kTokensAtOnce);
  }

 private:
  using D = hn::Repartition<std::uint32_t, DPair>;
  hn::Vec<D> words_;
};
#else
using PairOfWords = Words;  // never used
#endif

// Fills in the words for the normals of a block (or two), of which only the first `groups` groups are stored.
// It works on three vectors of counters at a time, two for radii and one for angles.
template <class WordsOf, class D = typename WordsOf::Counters>
HWY_INLINE void FillBlock(const Row& row, std::uint64_t counter, std::size_t groups,
                          float* HWY_RESTRICT radius, float* HWY_RESTRICT angle) {
  constexpr std::size_t kParts = hn::MaxLanes(D()) < kCountersAtOnce ? kVectors : 1;
  for (std::size_t part = 0; part < kParts; ++part) {
    PhiloxCounters<D, 3> counters(WordsOf::First(counter + part * hn::MaxLanes(D())), kCountersAtOnce);
    AllRounds(row, counters, std::make_index_sequence<kPhiloxRounds>());
    const auto& [x0, x1, x2, x3] = counters;
    const std::size_t to = part * kTokens;
    const WordsOf angles01(x0[2], x2[2]), angles23(x1[2], x3[2]);
    WordsOf(x0[0], x2[0]).template Store<Part::whole>(radius + to);
    angles01.template Store<Part::lower_half>(angle + to);
    if (groups == 1) continue;
    WordsOf(x1[0], x3[0]).template Store<Part::whole>(radius + kTokensAtOnce + to);
    angles01.template Store<Part::upper_half>(angle + kTokensAtOnce + to);
    if (groups == 2) continue;
    WordsOf(x0[1], x2[1]).template Store<Part::whole>(radius + 2 * kTokensAtOnce + to);
    angles23.template Store<Part::lower_half>(angle + 2 * kTokensAtOnce + to);
    if (groups == 3) continue;
    WordsOf(x1[1], x3[1]).template Store<Part::whole>(radius + 3 * kTokensAtOnce + to);
    angles23.template Store<Part::upper_half>(angle + 3 * kTokensAtOnce + to);
  }
}

// Turns words into normals in place, from token `done` on. Returns the number of tokens done.
template <class D, std::size_t kCount>
HWY_INLINE std::size_t FillNormals(std::size_t done, std::size_t tokens, float* HWY_RESTRICT first,
                                   float* HWY_RESTRICT second) {
  const D df;
  const hn::RebindToUnsigned<D> d32;
  constexpr std::size_t kFloats = hn::MaxLanes(df);
  // Groups are aligned; vectors of two groups need not be.
  for (; done + kCount * kFloats <= tokens; done += kCount * kFloats) {
    hn::Vec<decltype(d32)> radius[kCount], angle[kCount];
    hn::Vec<D> x[kCount], y[kCount];
    for (std::size_t i = 0; i < kCount; ++i) {
      radius[i] = hn::BitCast(d32, hn::LoadU(df, first + done + i * kFloats));
      angle[i] = hn::BitCast(d32, hn::LoadU(df, second + done + i * kFloats));
    }
    FloatNormals(df, radius, angle, x, y);
    for (std::size_t i = 0; i < kCount; ++i) {
      hn::StoreU(x[i], df, first + done + i * kFloats);
      hn::StoreU(y[i], df, second + done + i * kFloats);
    }
  }
  return done;
}

// Three vectors at a time: as many as the registers hold, and enough to keep a core busy.
void TokenWords(const DrawAddress& address, std::size_t groups, std::uint32_t* HWY_RESTRICT first,
                std::uint32_t* HWY_RESTRICT second) {
  const Row row(address.seed, address.stream, address.first >> 32);
  const std::size_t counters = groups * kCountersAtOnce;
  std::size_t done = 0;
  if constexpr (kHasPairs) {
    done = FillWords<3>(DPair(), row, address.first, done, counters, first, second);
    done = FillWords<1>(DPair(), row, address.first, done, counters, first, second);
  } else {
    done = FillWords<3>(D64(), row, address.first, done, counters, first, second);
    done = FillWords<2>(D64(), row, address.first, done, counters, first, second);
  }
  FillWords<1>(D64(), row, address.first, done, counters, first, second);
}

// First all words, then all normals: each of the two keeps a core busy by itself, and there are too few
// registers for both at once.
void TokenNormals(const DrawAddress& address, std::size_t groups, NormalRows rows) {
  for (std::size_t pair = 0; pair < rows.pairs; ++pair) {
    const std::uint64_t at = address.first + pair * rows.apart;
    const Row row(address.seed, address.stream, at >> 32);
    float* const first = rows.first + 2 * pair * rows.stride;
    float* const second = first + rows.stride;
    std::size_t filled = 0;
    if constexpr (kHasPairs) {
      for (; filled + 2 * kGroupsInBlock <= groups; filled += 2 * kGroupsInBlock) {
        FillBlock<PairOfWords>(row, at + filled * kCountersAtOnce, kGroupsInBlock,
                               first + filled * kTokensAtOnce, second + filled * kTokensAtOnce);
      }
    }
    for (; filled < groups; filled += kGroupsInBlock) {
      FillBlock<Words>(row, at + filled * kCountersAtOnce, std::min(kGroupsInBlock, groups - filled),
                       first + filled * kTokensAtOnce, second + filled * kTokensAtOnce);
    }
  }
  const std::size_t tokens = groups * kTokensAtOnce;
  for (std::size_t pair = 0; pair < rows.pairs; ++pair) {
    float* const first = rows.first + 2 * pair * rows.stride;
    float* const second = first + rows.stride;
    std::size_t done = FillNormals<Wide, 3>(0, tokens, first, second);
    done = FillNormals<Wide, 1>(done, tokens, first, second);
    FillNormals<DF, 1>(done, tokens, first, second);
  }
}

}  // namespace
}  // namespace largo::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace largo::random {
namespace {
HWY_EXPORT(TokenNormals);
HWY_EXPORT(TokenWords);

// Calls use(address, groups, first token) for the parts whose counters agree in all but their lowest word.
template <class Use>
void for_rows(DrawAddress address, std::size_t groups, const Use& use) {
  ensure_simd_level();
  assert(address.first % kCountersAtOnce == 0);
  std::size_t token = 0;
  while (groups > 0) {
    constexpr std::uint64_t kRow = std::uint64_t{1} << 32;
    const std::uint64_t left = (kRow - address.first % kRow) / kCountersAtOnce;
    const auto count = static_cast<std::size_t>(std::min<std::uint64_t>(groups, left));
    use(address, count, token);
    address.first += count * kCountersAtOnce;
    token += count * kTokensAtOnce;
    groups -= count;
  }
}

}  // namespace

void token_normals(const DrawAddress& address, std::size_t groups, float* first, float* second) {
  token_normals(address, groups, {first, second - first, 1, 0});
}

void token_normals(const DrawAddress& address, std::size_t groups, const NormalRows& rows) {
  assert(address.first % kBlockCounters == 0);
  for_rows(address, groups, [&](const DrawAddress& at, std::size_t count, std::size_t token) {
    HWY_DYNAMIC_DISPATCH(TokenNormals)(at, count, {rows.first + token, rows.stride, rows.pairs, rows.apart});
  });
}

void token_words(const DrawAddress& address, std::size_t groups, std::uint32_t* first,
                 std::uint32_t* second) {
  for_rows(address, groups, [&](const DrawAddress& at, std::size_t count, std::size_t token) {
    HWY_DYNAMIC_DISPATCH(TokenWords)(at, count, first + token, second + token);
  });
}

}  // namespace largo::random
#endif  // HWY_ONCE
