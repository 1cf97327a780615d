// Sums prompts with the functions that host and device share, one token after the other.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "chi_squared.cuh"
#include "collapsed.cuh"
#include "draws.cuh"

namespace largo::cuda {

inline double lanes_total(const double (&s)[kLanes]) {
  return ((s[0] + s[4]) + (s[2] + s[6])) + ((s[1] + s[5]) + (s[3] + s[7]));
}

inline prompts::CollapsedSums host_collapsed_sums(const Address& at, std::int64_t L, double s, double alpha,
                                                  double beta) {
  prompts::CollapsedSetting setting = prompts::collapsed_setting(L, s, alpha, beta);
  prompts::CollapsedToken token = setting.token;
  double lanes[prompts::kCollapsedSums][kLanes] = {};
  float top = 0;
  for (std::int64_t first = 0; first < L; first += prompts::kCollapsedChunk) {
    const std::int64_t end = std::min<std::int64_t>(L, first + prompts::kCollapsedChunk);
    float sums[kLanes][prompts::kCollapsedSums] = {};
    if (!setting.fixed) {
      token.top = -std::numeric_limits<float>::infinity();
      for (std::int64_t i = first; i < end; ++i) {
        token.top = std::max(token.top, token_normals(at, static_cast<std::uint64_t>(i)).first);
      }
      if (first == 0) top = token.top;
    }
    for (std::int64_t i = first; i < end; ++i) {
      const Pair<float> x = token_normals(at, static_cast<std::uint64_t>(i));
      const float w =
          setting.fixed ? weight<false>(token.rate, x.first) : weight<true>(token.rate, x.first - token.top);
      add_token(token, x.first, x.second, w, sums[i % kLanes]);
    }
    const Scales scale = setting.fixed ? Scales{} : scales(token, top);
    top = std::max(top, token.top);
    for (std::size_t k = 0; k < prompts::kCollapsedSums; ++k) {
      const double before = k < prompts::kW2 ? scale.old_scale : scale.old_scale * scale.old_scale;
      const double now = k < prompts::kW2 ? scale.new_scale : scale.new_scale * scale.new_scale;
      for (int lane = 0; lane < kLanes; ++lane) {
        lanes[k][lane] = setting.fixed ? lanes[k][lane] + double{sums[lane][k]}
                                       : lanes[k][lane] * before + double{sums[lane][k]} * now;
      }
    }
  }
  double total[prompts::kCollapsedSums];
  for (std::size_t k = 0; k < prompts::kCollapsedSums; ++k) total[k] = lanes_total(lanes[k]);
  return prompts::collapsed_sums(setting, L, total);
}

/// Hands out the candidates in order.
struct HostCandidates {
  Address normal_draws, uniform_draws;
  std::uint64_t used = 0;
  prompts::Candidate operator()() { return candidate(normal_draws, uniform_draws, used++); }
  static double logarithm(double x) { return cuda::logarithm(x); }
};

}  // namespace largo::cuda
