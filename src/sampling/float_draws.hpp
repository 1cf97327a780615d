// Random numbers for the prompt kernels: two normals in float32 for each of many tokens.
//
// Token t of a prompt reads Philox4x32-10 at counter (first + ⌊t/2⌋, stream): words 0 and 1 for even t, 2 and
// 3 for odd t. Tokens come in groups of eight, which fill whole vectors at every SIMD level.
#pragma once

#include <cstddef>
#include <cstdint>

namespace largo {

inline constexpr std::size_t kTokensAtOnce = 8;
inline constexpr std::size_t kCountersAtOnce = 4;

struct DrawAddress {
  std::uint64_t seed = 0;
  std::uint64_t stream = 0;
  std::uint64_t first = 0;  ///< counter of the first group, a multiple of kCountersAtOnce
};

/// Two independent standard normals for each token of `groups` groups, to arrays aligned to 64 bytes: 24
/// bits, at most 6.66 in size (a normal variable exceeds that once in 4e10 times). Cost: 1.7 ns a token
/// with AVX2.
void token_normals(const DrawAddress& address, std::size_t groups, float* first, float* second);

/// The two words of each token themselves.
void token_words(const DrawAddress& address, std::size_t groups, std::uint32_t* first, std::uint32_t* second);

}  // namespace largo
