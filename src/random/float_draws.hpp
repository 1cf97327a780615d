// Random numbers for the prompt kernels: two words, or two normals in float32, for each of many tokens, from
// Philox4x32-10 at counters (first, stream), (first + 1, stream), ...
//
// Words: token t reads counter ⌊t/2⌋, words 0 and 1 for even t, 2 and 3 for odd t.
//
// Normals take 48 bits per token: 31 for the radius and 17 for the direction, which is one of 2^17 equally
// spaced ones. (Given the radius, averages of polynomials of degree below 2^17 equal those over the circle.)
// 32 tokens read the first 12 of 16 counters: token t = 32 n + 8 v + 2 j + k, with v, j < 4 and k < 2, has
// its radius and a sign in word (v mod 2) + 2k of counter 16 n + 4 ⌊v/2⌋ + j, and its angle in half of word
// ⌊v/2⌋ + 2k of counter 16 n + 8 + j: the lower half for even v, the upper half for odd v.
//
// Tokens come in groups of eight, which fill whole vectors at every SIMD level.
#pragma once

#include <cstddef>
#include <cstdint>

namespace largo::random {

/// Tokens drawn together. Sums in float32 have eight partial sums, too: token i goes to number i modulo 8.
inline constexpr std::size_t kTokensAtOnce = 8;
inline constexpr std::size_t kCountersAtOnce = 4;
/// Groups of normals that share counters, and the number of counters that such a block may read.
inline constexpr std::size_t kGroupsInBlock = 4;
inline constexpr std::size_t kBlockCounters = kGroupsInBlock * kCountersAtOnce;

struct DrawAddress {
  std::uint64_t seed = 0;
  std::uint64_t stream = 0;
  std::uint64_t first = 0;  ///< counter of the first group, a multiple of kCountersAtOnce (normals:
                            ///< of kBlockCounters)
};

/// Writes two independent standard normals for each token of `groups` groups to arrays aligned to 64 bytes.
/// They have 24 bits and are at most 6.66 in size (a normal variable exceeds that once in 4e10 times). Cost:
/// 1.5 ns per token with AVX2.
void token_normals(const DrawAddress& address, std::size_t groups, float* first, float* second);

/// Rows for `pairs` pairs of normals, one pair below the other.
struct NormalRows {
  float* first;
  std::ptrdiff_t stride;  ///< from one row to the next
  std::size_t pairs;
  std::uint64_t apart;  ///< counters from one pair to the next: a multiple of 2^32
};
/// The same for several pairs together, which takes less time than one after the other if tokens are few.
void token_normals(const DrawAddress& address, std::size_t groups, const NormalRows& rows);

/// Writes the two words of each token.
void token_words(const DrawAddress& address, std::size_t groups, std::uint32_t* first, std::uint32_t* second);

}  // namespace largo::random
