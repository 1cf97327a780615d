// The draws of src/random/float_draws.hpp, one at a time: the same words and normals for the same address.
#pragma once

#include <cstdint>

#include "portable.cuh"
#include "prompts/prompt_layout.hpp"
#include "prompts/token_transforms.hpp"

namespace largo::cuda {

/// The counters of one prompt: (first + i, stream) under the key `seed`.
struct Address {
  std::uint64_t seed = 0, stream = 0, first = 0;
};

/// The output of Philox4x32-10 for one counter.
struct Words {
  std::uint32_t word[4];
};

LARGO_HOST_DEVICE Words philox(const Address& at, std::uint64_t index) {
  const std::uint64_t counter = at.first + index;
  std::uint32_t x0 = static_cast<std::uint32_t>(counter), x1 = static_cast<std::uint32_t>(counter >> 32);
  std::uint32_t x2 = static_cast<std::uint32_t>(at.stream), x3 = static_cast<std::uint32_t>(at.stream >> 32);
  std::uint32_t key0 = static_cast<std::uint32_t>(at.seed), key1 = static_cast<std::uint32_t>(at.seed >> 32);
  LARGO_UNROLL
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t product0 = std::uint64_t{x0} * 0xD2511F53u,
                        product1 = std::uint64_t{x2} * 0xCD9E8D57u;
    x0 = static_cast<std::uint32_t>(product1 >> 32) ^ x1 ^ key0;
    x2 = static_cast<std::uint32_t>(product0 >> 32) ^ x3 ^ key1;
    x1 = static_cast<std::uint32_t>(product1);
    x3 = static_cast<std::uint32_t>(product0);
    key0 += 0x9E3779B9u;
    key1 += 0xBB67AE85u;
  }
  return {{x0, x1, x2, x3}};
}

/// Two numbers of a token.
template <typename T>
struct Pair {
  T first, second;
};

/// -2 ln of the uniform in the upper 31 bits of the word.
LARGO_HOST_DEVICE float squared_radius(std::uint32_t radius) {
  using C = numerics::PolarConstants;
  constexpr float c0 = C::kLog[0], c1 = C::kLog[1], c2 = C::kLog[2], c3 = C::kLog[3], c4 = C::kLog[4],
                  c5 = C::kLog[5], c6 = C::kLog[6], c7 = C::kLog[7];
  const float u = static_cast<float>(static_cast<std::int32_t>(radius >> 1)) + 0.5F;
  const std::int32_t from_root = bits_as<std::int32_t>(u) - (C::kRootHalf + (31 << 23));
  const float f = bits_as<float>((from_root & 0x7fffff) + C::kRootHalf) - 1.0F;
  const float e = static_cast<float>(from_root >> 23) * C::kMinusTwoLn2;
  const float ff = f * f;
  const float even = fused(fused(fused(ff, c6, c4), ff, c2), ff, c0);
  const float odd = fused(fused(fused(ff, c7, c5), ff, c3), ff, c1);
  return fused(f, fused(f, odd, even), e);
}

/// cos θ and sin θ, exchanged if the upper bit of the word is set.
LARGO_HOST_DEVICE Pair<float> direction(std::uint32_t angle) {
  using C = numerics::PolarConstants;
  constexpr float s0 = C::kSin[0], s1 = C::kSin[1], s2 = C::kSin[2], s3 = C::kSin[3];
  constexpr float c0 = C::kCos[0], c1 = C::kCos[1], c2 = C::kCos[2], c3 = C::kCos[3];
  const float y = static_cast<float>(static_cast<std::int32_t>(angle << 1)) * 0x1p-31F;
  const float yy = y * y;
  const float sin = y * fused(fused(fused(yy, s3, s2), yy, s1), yy, s0);
  const float cos = fused(fused(fused(yy, c3, c2), yy, c1), yy, c0);
  const bool exchanged = (angle & 0x80000000u) != 0;
  return {exchanged ? sin : cos, exchanged ? cos : sin};
}

LARGO_HOST_DEVICE float with_sign_of(std::uint32_t radius, float x) {
  return bits_as<float>(bits_as<std::uint32_t>(x) ^ (radius << 31));
}

/// √x for x = 0 and 2^-40 <= x < 2^40, correctly rounded, without the branch for other numbers, which would
/// keep the roots of several tokens from being computed together.
LARGO_HOST_DEVICE float root_of_squared_radius(float x) {
#ifdef __CUDA_ARCH__
  float inverse;
  asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(inverse) : "f"(x));
  const float y = x * inverse;
  return x == 0.0F ? 0.0F : fused(fused(-y, y, x), 0.5F * inverse, y);
#else
  return root(x);
#endif
}

/// Two standard normals from a word each, or from a word and an angle of 16 bits.
LARGO_HOST_DEVICE Pair<float> normals(std::uint32_t radius, std::uint32_t angle) {
  const Pair<float> on_circle = direction(angle);
  const float r = with_sign_of(radius, root_of_squared_radius(squared_radius(radius)));
  return {r * on_circle.first, r * on_circle.second};
}

/// The layout of a block of 32 tokens: lane = 2j + k has tokens 8v + lane, v < 4, with the radii in words 2k
/// and 2k + 1 of counters j and 4 + j, and the angles in the same words of counter 8 + j.
inline constexpr int kBlockTokens = static_cast<int>(random::kGroupsInBlock * random::kTokensAtOnce);
inline constexpr int kBlockCounters = static_cast<int>(random::kBlockCounters);
static_assert(kBlockTokens == 32 && kBlockCounters == 16, "as the layout above says");

/// Half a word as an angle: the lower half for even v.
LARGO_HOST_DEVICE std::uint32_t angle_of(std::uint32_t word, int v) {
  return (v % 2 == 0 ? word << 16 : word & 0xffff0000u) | 0x8000u;
}

/// The two normals of token t at the address, which must be a multiple of kBlockCounters.
LARGO_HOST_DEVICE Pair<float> token_normals(const Address& at, std::uint64_t t) {
  const std::uint64_t block = t / kBlockTokens * kBlockCounters;
  const auto v = static_cast<int>(t / 8 % 4), j = static_cast<int>(t / 2 % 4), k = static_cast<int>(t % 2);
  const Words radii = philox(at, block + static_cast<std::uint64_t>(4 * (v / 2) + j));
  const Words angles = philox(at, block + static_cast<std::uint64_t>(8 + j));
  return normals(radii.word[v % 2 + 2 * k], angle_of(angles.word[v / 2 + 2 * k], v));
}

/// The two words of token t.
LARGO_HOST_DEVICE Pair<std::uint32_t> token_words(const Address& at, std::uint64_t t) {
  const Words words = philox(at, t / 2);
  return t % 2 == 0 ? Pair<std::uint32_t>{words.word[0], words.word[1]}
                    : Pair<std::uint32_t>{words.word[2], words.word[3]};
}

/// The counters of a lane of a prompt (src/prompts/token_source.hpp), for the tokens from `first_token` on.
LARGO_HOST_DEVICE Address lane_of(std::uint64_t seed, std::uint64_t prompt, std::uint64_t lane,
                                  std::uint64_t first_token) {
  return {seed, prompt,
          lane * prompts::kLaneCounters + first_token / random::kTokensAtOnce * random::kCountersAtOnce};
}

// From a word to a coordinate, as in src/prompts/token_transforms.hpp.

LARGO_HOST_DEVICE float coin(std::uint32_t word, int bit, float low, float high) {
  return (word >> bit & 1) != 0 ? high : low;
}

LARGO_HOST_DEVICE float atom(std::uint32_t word, const prompts::Atoms& law) {
  float value = law.value[prompts::kMostAtoms - 1];
  LARGO_UNROLL
  for (int k = static_cast<int>(prompts::kMostAtoms) - 2; k >= 0; --k)
    value = word < law.below[static_cast<std::size_t>(k)] ? law.value[static_cast<std::size_t>(k)] : value;
  return value;
}

LARGO_HOST_DEVICE float interval(std::uint32_t word, float centre, float half_width) {
  return centre + static_cast<float>(static_cast<std::int32_t>(word)) * (half_width * 0x1p-31F);
}

LARGO_HOST_DEVICE float two_sided(std::uint32_t word, const prompts::TwoSided& law) {
  const double uniform = (static_cast<double>(word) + 0.5) * 0x1p-31 - 1;
  const double length = -law.scale * logarithm(1 - runtime::size_of_number(uniform) * law.mass);
  const double within = runtime::smaller_of(length, law.bound);
  return static_cast<float>(uniform < 0 ? -within : within);
}

/// The factor that puts a token of this squared norm on the sphere.
LARGO_HOST_DEVICE float to_sphere(float square) {
  return quotient(1.0F, root(square < 0x1p-100F ? 1.0F : square));
}

}  // namespace largo::cuda
