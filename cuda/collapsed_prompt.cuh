// The tokens of a collapsed prompt, summed by the octets of its team as in src/prompts/collapsed_kernel.cpp:
// lane by lane and chunk by chunk.
#pragma once

#include "chi_squared.cuh"
#include "octet.cuh"
#include "octet_draws.cuh"

namespace largo::cuda {

// Tokens that a thread handles together: each fills the waiting times of the others.
inline constexpr int kTogether = 4;

// Calls use(g, h, count) for the tokens of this thread's lane in a chunk, kTogether at a time and in order;
// the first `count` of them are inside.
template <typename Use>
__device__ void for_tokens(const Team& team, const Address& at, std::int64_t chunk, int count,
                           const Use& use) {
  const std::uint64_t first = static_cast<std::uint64_t>(chunk) * (prompts::kCollapsedChunk / 2);
  for (int two = 0; two < count; two += 2 * kBlockTokens) {
    TwoBlocks words;
    words.draw(at, first + static_cast<std::uint64_t>(two / 2), team.lane, team.octet_mask);
    LARGO_UNROLL
    for (int b = 0; b < 2; ++b) {
      const int left = count - (two + b * kBlockTokens + team.lane);
      if (count <= two + b * kBlockTokens) break;
      float g[kTogether], h[kTogether];
      LARGO_UNROLL
      for (int v = 0; v < kTogether; ++v) {
        const Pair<float> x = words.normals_of(b, v);
        g[v] = x.first;
        h[v] = x.second;
      }
      use(g, h, (left + kLanes - 1) / kLanes);
    }
  }
}

// Computes the sums over L tokens in every thread of the team: each octet sums one chunk at a time, and adds
// the sums of all octets in order.
template <bool kFixed>
__device__ void sum_tokens(const Team& team, const Address& at, std::int64_t L, prompts::CollapsedToken token,
                           double (&total)[prompts::kCollapsedSums]) {
  const std::int64_t chunks = (L + prompts::kCollapsedChunk - 1) / prompts::kCollapsedChunk;
  float top = 0;
  LARGO_UNROLL
  for (double& sum : total) sum = 0;
  for (std::int64_t first = 0; first < chunks; first += team.count) {
    const std::int64_t chunk = first + team.octet;
    const std::int64_t left = L - chunk * prompts::kCollapsedChunk;
    const int count = left > prompts::kCollapsedChunk ? prompts::kCollapsedChunk
                      : left < 0                      ? 0
                                                      : static_cast<int>(left);
    float sum[prompts::kCollapsedSums] = {};
    if (!kFixed) {
      float largest = -bits_as<float>(0x7f800000);
      for_tokens(team, at, chunk, count,
                 [&](const float(&g)[kTogether], const float(&)[kTogether], int inside) {
                   LARGO_UNROLL
                   for (int v = 0; v < kTogether; ++v)
                     largest = v < inside && largest < g[v] ? g[v] : largest;
                 });
      token.top = team.largest(largest);
    }
    for_tokens(team, at, chunk, count,
               [&](const float(&g)[kTogether], const float(&h)[kTogether], int inside) {
                 float w[kTogether];
                 LARGO_UNROLL
                 for (int v = 0; v < kTogether; ++v) {
                   w[v] = weight<!kFixed>(token.rate, kFixed ? g[v] : g[v] - token.top);
                   w[v] = v < inside ? w[v] : 0.0F;
                 }
                 LARGO_UNROLL
                 for (int v = 0; v < kTogether; ++v) add_token(token, g[v], h[v], w[v], sum);
               });
    const float my_top = token.top;
    const int here = chunks - first < team.count ? static_cast<int>(chunks - first) : team.count;
    for (int octet = 0; octet < here; ++octet) {
      Scales scale;
      if (!kFixed) {
        token.top = team.from_octet(my_top, octet);
        if (first == 0 && octet == 0) top = token.top;
        scale = scales(token, top);
        top = top < token.top ? token.top : top;
      }
      LARGO_UNROLL
      for (std::size_t k = 0; k < prompts::kCollapsedSums; ++k) {
        const double more = double{team.from_octet(sum[k], octet)};
        if (kFixed) {
          total[k] = total[k] + more;
        } else {
          const double old_scale = k < prompts::kW2 ? scale.old_scale : scale.old_scale * scale.old_scale;
          const double new_scale = k < prompts::kW2 ? scale.new_scale : scale.new_scale * scale.new_scale;
          total[k] = total[k] * old_scale + more * new_scale;
        }
      }
    }
  }
  LARGO_UNROLL
  for (double& sum : total) sum = team.total(sum);
}

// Candidates for chi-squared variables, eight at a time.
struct TeamCandidates {
  const Team& team;
  Address normal_draws, uniform_draws;
  std::uint64_t used = 0;
  prompts::Candidate mine = {};

  __device__ static double logarithm(double x) { return cuda::logarithm(x); }
  __device__ prompts::Candidate operator()() {
    const int lane = static_cast<int>(used % kLanes);
    if (lane == 0) {
      mine = candidate(normal_draws, uniform_draws, used + static_cast<std::uint64_t>(team.lane));
    }
    ++used;
    return {team.from(mine.normal, lane), team.from(mine.uniform, lane)};
  }
};

}  // namespace largo::cuda
