#include "sampling/float_draws.hpp"

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

using D64 = hn::CappedTag<std::uint64_t, 4>;
using D32 = hn::CappedTag<std::uint32_t, kTokensAtOnce>;
using V64 = hn::Vec<D64>;
constexpr std::size_t kLanes = hn::MaxLanes(D64());
constexpr std::size_t kVectors = kCountersAtOnce / kLanes;  // of counters, in a group

// The four output words of consecutive counters, in the lower halves of the lanes. Several vectors go round
// by round: one alone would spend most of its time waiting for multiplications.
template <std::size_t kCount>
struct Words {
  HWY_INLINE Words(const DrawAddress& address, std::uint64_t counter) {
    const D64 d;
    for (std::size_t i = 0; i < kCount; ++i) {
      x[0][i] = hn::Iota(d, counter + i * kLanes);
      x[1][i] = hn::ShiftRight<32>(x[0][i]);
      x[2][i] = hn::Set(d, address.stream);
      x[3][i] = hn::Set(d, address.stream >> 32);
    }
    V64 key0 = hn::Set(d, address.seed);
    V64 key1 = hn::Set(d, address.seed >> 32);
    for (int round = 0; round < kPhiloxRounds; ++round) {
      for (std::size_t i = 0; i < kCount; ++i) PhiloxRound(d, key0, key1, x[0][i], x[1][i], x[2][i], x[3][i]);
      NextKey(d, key0, key1);
    }
  }
  V64 x[4][kCount];
};

// Calls use(i, low, high) for kGroups groups of tokens, with as many tokens from i on as a vector holds.
template <std::size_t kGroups, class Use>
HWY_INLINE void ForWords(const DrawAddress& address, std::size_t group, const Use& use) {
  const Words<kGroups * kVectors> words(address, address.first + kCountersAtOnce * group);
  const D32 d32;
  for (std::size_t g = 0; g < kGroups; ++g) {
    const std::size_t token = kTokensAtOnce * (group + g);
    const std::size_t v = g * kVectors;
#if HWY_TARGET == HWY_SCALAR
    for (std::size_t i = 0; i < kTokensAtOnce; ++i) {
      const std::size_t half = i < kCountersAtOnce ? 0 : 2;
      const auto word = [&](std::size_t k) {
        return hn::Set(d32,
                       static_cast<std::uint32_t>(hn::GetLane(words.x[half + k][v + i % kCountersAtOnce])));
      };
      use(token + i, word(0), word(1));
    }
#else
    const auto pair = [&](V64 upper, V64 lower) HWY_ATTR {
      return hn::ConcatEven(d32, hn::BitCast(d32, upper), hn::BitCast(d32, lower));
    };
    if constexpr (kVectors == 1) {
      use(token, pair(words.x[2][v], words.x[0][v]), pair(words.x[3][v], words.x[1][v]));
    } else {
      for (std::size_t half = 0; half < 4; half += 2) {
        use(token + 2 * half, pair(words.x[half][v + 1], words.x[half][v]),
            pair(words.x[half + 1][v + 1], words.x[half + 1][v]));
      }
    }
#endif
  }
}

template <class Use>
HWY_INLINE void ForAllWords(const DrawAddress& address, std::size_t groups, const Use& use) {
  std::size_t group = 0;
  for (; group + 2 <= groups; group += 2) ForWords<2>(address, group, use);
  if (group < groups) ForWords<1>(address, group, use);
}

void TokenNormals(const DrawAddress& address, std::size_t groups, float* HWY_RESTRICT first,
                  float* HWY_RESTRICT second) {
  const hn::RebindToFloat<D32> df;
  ForAllWords(address, groups, [&](std::size_t token, auto a, auto b) HWY_ATTR {
    hn::Vec<decltype(df)> x, y;
    FloatNormals(df, a, b, x, y);
    hn::Store(x, df, first + token);
    hn::Store(y, df, second + token);
  });
}

void TokenWords(const DrawAddress& address, std::size_t groups, std::uint32_t* HWY_RESTRICT first,
                std::uint32_t* HWY_RESTRICT second) {
  const D32 d;
  ForAllWords(address, groups, [&](std::size_t token, auto a, auto b) HWY_ATTR {
    hn::Store(a, d, first + token);
    hn::Store(b, d, second + token);
  });
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
}  // namespace

void token_normals(const DrawAddress& address, std::size_t groups, float* first, float* second) {
  ensure_simd_level();
  HWY_DYNAMIC_DISPATCH(TokenNormals)(address, groups, first, second);
}

void token_words(const DrawAddress& address, std::size_t groups, std::uint32_t* first,
                 std::uint32_t* second) {
  ensure_simd_level();
  HWY_DYNAMIC_DISPATCH(TokenWords)(address, groups, first, second);
}

}  // namespace largo
#endif  // HWY_ONCE
