#include "sampling/float_draws.hpp"

#include <algorithm>
#include <cassert>
#include <utility>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "sampling/float_draws.cpp"
#include "hwy/foreach_target.h"  // must precede highway.h
#include "hwy/highway.h"

#include "largo/numerics/simd_level.hpp"
#include "sampling/float_normals-inl.hpp"
#include "sampling/philox-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace largo {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

using D64 = hn::CappedTag<std::uint64_t, kCountersAtOnce>;
#if HWY_TARGET == HWY_SCALAR
using D32 = hn::CappedTag<std::uint32_t, 1>;
#else
using D32 = hn::Repartition<std::uint32_t, D64>;
#endif
using DF = hn::RebindToFloat<D32>;
using V64 = hn::Vec<D64>;
using Row = PhiloxRow<D64>;
constexpr std::size_t kTokens = 2 * Row::kLanes;           // in a vector of counters
constexpr std::size_t kVectors = kTokensAtOnce / kTokens;  // of counters in a group

// Calls use(i, first, second) with the two words of each token, one vector of tokens after the other.
template <std::size_t kCount, class Use>
HWY_INLINE void ForWords(const PhiloxCounters<D64, kCount>& words, const Use& use) {
  const D32 d32;
  for (std::size_t i = 0; i < kCount; ++i) {
#if HWY_TARGET == HWY_SCALAR
    const auto word = [&](V64 x, int shift) {
      return hn::Set(d32, static_cast<std::uint32_t>(hn::GetLane(x) >> shift));
    };
    use(2 * i, word(words.x0[i], 0), word(words.x1[i], 0));
    use(2 * i + 1, word(words.x2[i], 32), word(words.x3[i], 32));
#else
    const auto pair = [&](V64 upper, V64 lower)
                          HWY_ATTR { return hn::OddEven(hn::BitCast(d32, upper), hn::BitCast(d32, lower)); };
    use(i, pair(words.x2[i], words.x0[i]), pair(words.x3[i], words.x1[i]));
#endif
  }
}

template <std::size_t kCount, std::size_t... kRound>
HWY_INLINE void AllRounds(const Row& row, PhiloxCounters<D64, kCount>& words,
                          std::index_sequence<kRound...>) {
  (words.template Round<kRound>(row), ...);
}

// The words of kCount vectors of counters at a time, from vector `done` on, while there are as many. Returns
// how many are done. T: what the words are stored as, bit by bit.
template <std::size_t kCount, typename T>
HWY_INLINE std::size_t FillWords(const Row& row, std::uint64_t counter, std::size_t done, std::size_t vectors,
                                 T* HWY_RESTRICT first, T* HWY_RESTRICT second) {
  const D64 d;
  const hn::Rebind<T, D32> dt;
  V64 lanes = hn::Iota(d, counter + done * Row::kLanes);
  for (; done + kCount <= vectors; done += kCount) {
    PhiloxCounters<D64, kCount> words(lanes);
    lanes = hn::Add(lanes, hn::Set(d, std::uint64_t{kCount * Row::kLanes}));
    AllRounds<kCount>(row, words, std::make_index_sequence<kPhiloxRounds>());
    ForWords<kCount>(words, [&](std::size_t i, auto a, auto b) HWY_ATTR {
      hn::Store(hn::BitCast(dt, a), dt, first + done * kTokens + i * hn::MaxLanes(dt));
      hn::Store(hn::BitCast(dt, b), dt, second + done * kTokens + i * hn::MaxLanes(dt));
    });
  }
  return done;
}

// Three vectors at a time: as many as the registers hold, and enough to keep a core busy.
template <typename T>
HWY_INLINE void AllWords(const DrawAddress& address, std::size_t groups, T* HWY_RESTRICT first,
                         T* HWY_RESTRICT second) {
  const Row row(address.seed, address.stream, address.first >> 32);
  const std::size_t vectors = groups * kVectors;
  std::size_t done = FillWords<3>(row, address.first, 0, vectors, first, second);
  done = FillWords<2>(row, address.first, done, vectors, first, second);
  FillWords<1>(row, address.first, done, vectors, first, second);
}

// Words become normals in place, from token `done` on. Returns how many are done.
template <std::size_t kCount>
HWY_INLINE std::size_t FillNormals(std::size_t done, std::size_t tokens, float* HWY_RESTRICT first,
                                   float* HWY_RESTRICT second) {
  const DF df;
  const D32 d32;
  constexpr std::size_t kFloats = hn::MaxLanes(df);
  for (; done + kCount * kFloats <= tokens; done += kCount * kFloats) {
    hn::Vec<D32> radius[kCount], angle[kCount];
    hn::Vec<DF> x[kCount], y[kCount];
    for (std::size_t i = 0; i < kCount; ++i) {
      radius[i] = hn::BitCast(d32, hn::Load(df, first + done + i * kFloats));
      angle[i] = hn::BitCast(d32, hn::Load(df, second + done + i * kFloats));
    }
    FloatNormals(df, radius, angle, x, y);
    for (std::size_t i = 0; i < kCount; ++i) {
      hn::Store(x[i], df, first + done + i * kFloats);
      hn::Store(y[i], df, second + done + i * kFloats);
    }
  }
  return done;
}

void TokenWords(const DrawAddress& address, std::size_t groups, std::uint32_t* HWY_RESTRICT first,
                std::uint32_t* HWY_RESTRICT second) {
  AllWords(address, groups, first, second);
}

// First all words, then all normals: either keeps a core busy alone, and one register file is too small for
// both at a time.
void TokenNormals(const DrawAddress& address, std::size_t groups, float* HWY_RESTRICT first,
                  float* HWY_RESTRICT second) {
  AllWords(address, groups, first, second);
  const std::size_t tokens = groups * kTokensAtOnce;
  const std::size_t done = FillNormals<3>(0, tokens, first, second);
  FillNormals<1>(done, tokens, first, second);
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace largo
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace largo {
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
  for_rows(address, groups, [&](const DrawAddress& at, std::size_t count, std::size_t token) {
    HWY_DYNAMIC_DISPATCH(TokenNormals)(at, count, first + token, second + token);
  });
}

void token_words(const DrawAddress& address, std::size_t groups, std::uint32_t* first,
                 std::uint32_t* second) {
  for_rows(address, groups, [&](const DrawAddress& at, std::size_t count, std::size_t token) {
    HWY_DYNAMIC_DISPATCH(TokenWords)(at, count, first + token, second + token);
  });
}

}  // namespace largo
#endif  // HWY_ONCE
