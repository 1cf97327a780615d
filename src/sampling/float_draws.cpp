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
constexpr std::size_t kTokens = 2 * Row::kLanes;               // in a vector of counters
constexpr std::size_t kVectors = kTokensAtOnce / kTokens;      // of counters in a group
constexpr std::size_t kHalves = kTokens / hn::MaxLanes(DF());  // vectors of tokens in one of counters

template <std::size_t kCount>
using Normals = FloatNormals<DF, kCount * kHalves>;

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

template <std::size_t kCount>
HWY_INLINE void StartNormals(const PhiloxCounters<D64, kCount>& words, Normals<kCount>& normals) {
  ForWords<kCount>(words,
                   [&](std::size_t i, auto first, auto second) HWY_ATTR { normals.Start(i, first, second); });
}

template <std::size_t kCount>
HWY_INLINE void StoreNormals(const Normals<kCount>& normals, float* HWY_RESTRICT first,
                             float* HWY_RESTRICT second) {
  const DF df;
  for (std::size_t i = 0; i < kCount * kHalves; ++i) {
    hn::Store(normals.first[i], df, first + i * hn::MaxLanes(df));
    hn::Store(normals.second[i], df, second + i * hn::MaxLanes(df));
  }
}

template <std::size_t kCount, std::size_t... kStep>
HWY_INLINE void AllRounds(const Row& row, PhiloxCounters<D64, kCount>& words, std::index_sequence<kStep...>) {
  (words.template Round<kStep>(row), ...);
}

template <std::size_t kCount, std::size_t... kStep>
HWY_INLINE void AllSteps(Normals<kCount>& normals, std::index_sequence<kStep...>) {
  (normals.template Step<kStep>(), ...);
}

template <std::size_t kCount, std::size_t... kStep>
HWY_INLINE void RoundsAndSteps(const Row& row, PhiloxCounters<D64, kCount>& words, Normals<kCount>& normals,
                               std::index_sequence<kStep...>) {
  ((words.template Round<kStep>(row), normals.template Step<kStep>()), ...);
}

using Steps = std::make_index_sequence<kPhiloxRounds>;

// `vectors` vectors of counters, a positive multiple of kCount: the generator works on the next ones while
// the present ones become normals.
template <std::size_t kCount>
HWY_INLINE void Fill(const Row& row, std::uint64_t counter, std::size_t vectors, float* HWY_RESTRICT first,
                     float* HWY_RESTRICT second) {
  const D64 d;
  V64 lanes = hn::Iota(d, counter);
  const V64 step = hn::Set(d, std::uint64_t{kCount * Row::kLanes});
  PhiloxCounters<D64, kCount> words(lanes);
  AllRounds<kCount>(row, words, Steps());
  std::size_t done = 0;
  for (; done + kCount < vectors; done += kCount) {
    Normals<kCount> normals;
    StartNormals<kCount>(words, normals);
    lanes = hn::Add(lanes, step);
    words = PhiloxCounters<D64, kCount>(lanes);
    RoundsAndSteps<kCount>(row, words, normals, Steps());
    StoreNormals<kCount>(normals, first + done * kTokens, second + done * kTokens);
  }
  Normals<kCount> normals;
  StartNormals<kCount>(words, normals);
  AllSteps<kCount>(normals, Steps());
  StoreNormals<kCount>(normals, first + done * kTokens, second + done * kTokens);
}

void TokenNormals(const DrawAddress& address, std::size_t groups, float* HWY_RESTRICT first,
                  float* HWY_RESTRICT second) {
  const Row row(address.seed, address.stream, address.first >> 32);
  const std::size_t vectors = groups * kVectors;
  const std::size_t even = vectors / 2 * 2;
  if (even > 0) Fill<2>(row, address.first, even, first, second);
  if (even < vectors) {
    Fill<1>(row, address.first + even * Row::kLanes, 1, first + even * kTokens, second + even * kTokens);
  }
}

void TokenWords(const DrawAddress& address, std::size_t groups, std::uint32_t* HWY_RESTRICT first,
                std::uint32_t* HWY_RESTRICT second) {
  const D32 d32;
  const Row row(address.seed, address.stream, address.first >> 32);
  const auto fill = [&]<std::size_t kCount>(std::index_sequence<kCount>, std::size_t vector) HWY_ATTR {
    PhiloxCounters<D64, kCount> words(hn::Iota(D64(), address.first + vector * Row::kLanes));
    AllRounds<kCount>(row, words, Steps());
    ForWords<kCount>(words, [&](std::size_t i, auto a, auto b) HWY_ATTR {
      hn::Store(a, d32, first + vector * kTokens + i * hn::MaxLanes(d32));
      hn::Store(b, d32, second + vector * kTokens + i * hn::MaxLanes(d32));
    });
  };
  std::size_t vector = 0;
  for (; vector + 2 <= groups * kVectors; vector += 2) fill(std::index_sequence<2>(), vector);
  if (vector < groups * kVectors) fill(std::index_sequence<1>(), vector);
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
