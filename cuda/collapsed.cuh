// One token of a collapsed prompt, as in src/prompts/collapsed_kernel.cpp.
#pragma once

#include <numbers>

#include "portable.cuh"
#include "prompts/collapsed_token.hpp"

namespace largo::cuda {

/// Lanes of partial sums, and tokens in a full chunk.
inline constexpr int kLanes = static_cast<int>(random::kTokensAtOnce),
                     kSumsChunk = static_cast<int>(prompts::kChunkTokens);
inline constexpr int kCollapsedChunk = static_cast<int>(prompts::kCollapsedChunk);

/// 2^{rate x} for |rate x| < 126; with kUnderflow for rate x <= 0, and zero from -125.5 down.
template <bool kUnderflow>
LARGO_HOST_DEVICE float weight(float rate, float x) {
  constexpr float kRound = 0x1.8p23F;
  const float n = fused(rate, x, kRound);
  const float r = fused(rate, x, kRound - n);
  const float rr = r * r;
  float even = fused(rr, 0x1.5d9662p-10F, 0x1.c6b476p-5F);
  float odd = fused(rr, 0x1.3d1166p-7F, 0x1.ebf958p-3F);
  even = fused(rr, even, 0x1.62e42ap-1F);
  odd = fused(rr, odd, 1.0F);
  const float mantissa = fused(r, even, odd);
  const float y = bits_as<float>(bits_as<std::uint32_t>(mantissa) + (bits_as<std::uint32_t>(n) << 23));
  return kUnderflow && !(n > kRound - 126.0F) ? 0.0F : y;
}

/// Adds the token (g, h) of weight w to the partial sums of its lane.
LARGO_HOST_DEVICE void add_token(const prompts::CollapsedToken& token, float g, float h, float w,
                                 float (&sum)[prompts::kCollapsedSums]) {
  const float G = g - token.shift;
  const float v = fused(token.alpha, G, token.beta * h);
  const float wv = w * v;
  sum[prompts::kW] = sum[prompts::kW] + w;
  sum[prompts::kWG] = fused(w, G, sum[prompts::kWG]);
  sum[prompts::kWH] = fused(w, h, sum[prompts::kWH]);
  sum[prompts::kWVG] = fused(wv, G, sum[prompts::kWVG]);
  sum[prompts::kWVH] = fused(wv, h, sum[prompts::kWVH]);
  sum[prompts::kW2] = fused(w, w, sum[prompts::kW2]);
  sum[prompts::kW2V] = fused(w, wv, sum[prompts::kW2V]);
  sum[prompts::kW2VV] = fused(wv, wv, sum[prompts::kW2VV]);
}

/// The factors of the sums so far and of those of the next chunk, if the largest draw so far is `top`.
struct Scales {
  double old_scale = 1, new_scale = 1;
};
LARGO_HOST_DEVICE Scales scales(const prompts::CollapsedToken& token, float top) {
  const double difference = std::numbers::ln2 * double{token.rate} * (double{token.top} - double{top});
  return {difference > 0 ? exponential(-difference) : 1, difference > 0 ? 1 : exponential(difference)};
}

}  // namespace largo::cuda
