// One prompt of a batch: draws its task, query and tokens, and leaves its gradient in shared memory, as in
// src/prompts/regression_gradient.cpp.
#pragma once

#include "collapsed_prompt.cuh"
#include "descent_layout.hpp"

namespace largo::cuda {

inline constexpr int kThreads = 256;  // of a block

// What all prompts of a step read, and where they leave their results.
struct Shared {
  double *token_root, *query_root, *prior_root;
  double *parameters, *momentum, *squares;  // of the descent
  double *U, *v, *scores, *values;          // merged U and v; scores = c U, values = Cᵀ v_x (or Mᵀ v_x)
  double* gradient;                         // merged: with respect to U and v
  double* row;                              // the sum over all blocks
  double *query, *slope, *mean, *along, *loss;  // of a pass, one prompt after another
  double* chunks;                               // with other laws: one chunk of tokens for each warp
};

// The prompts that a block of threads has at a time.
inline constexpr int kPass = kThreads / kLanes;

// Numbers of a vector, at most.
inline constexpr int kWidest = kMostDimensions + 1;

// With other laws the matrices stay in global memory, and so does what prompts leave.
inline std::size_t shared_numbers(int d, Parametrisation parameters, bool has_laws) {
  const auto n = static_cast<std::size_t>(d + 1), dd = static_cast<std::size_t>(d * d);
  const std::size_t pass = kPass;
  return 3 * parameter_count(d, parameters) + 3 * (n * n + n) + kWidest +
         (has_laws ? 0 : 3 * dd + row_width(d) + pass * (n + 1 + 2 * n + 1));
}

__device__ inline Shared lay_out(double* memory, int d, Parametrisation parameters, bool has_laws) {
  const int n = d + 1, count = static_cast<int>(parameter_count(d, parameters));
  const auto take = [&](int numbers) {
    double* const begin = memory;
    memory += numbers;
    return begin;
  };
  Shared s = {};
  s.parameters = take(count);
  s.momentum = take(count);
  s.squares = take(count);
  s.U = take(n * n);
  s.v = take(n);
  s.scores = take(n * n);
  s.values = take(kWidest);
  s.gradient = take(n * n + n);
  s.chunks = memory;
  if (has_laws) return s;
  s.token_root = take(d * d);
  s.query_root = take(d * d);
  s.prior_root = take(d * d);
  s.row = take(static_cast<int>(row_width(d)));
  s.query = take(kPass * n);
  s.slope = take(kPass);
  s.mean = take(kPass * n);
  s.along = take(kPass * n);
  s.loss = take(kPass);
  return s;
}

// Computes the gradient of one prompt, before the tokens' covariance is applied, at place `at` of the pass.
template <int kParts>
__device__ void draw_prompt(const DescentSetting& setting, const DescentRun& run, const Shared& s,
                            const Team& team, std::uint64_t id, int at) {
  const int d = setting.dimension, n = d + 1;
  const int groups = d / kLanes + 1;  // groups of eight for d + 1 numbers
  const double v_y = s.v[d];
  Row<kParts> omega, chi, mean, gradient;
  const Address prompt_draws{run.seed, id, prompts::kPromptDraws};
  LARGO_UNROLL
  for (int m = 0; m < kParts; ++m) {
    const int i = m * kLanes + team.lane;
    const Pair<float> task = token_normals(prompt_draws, static_cast<std::uint64_t>(i));
    const Pair<float> across = token_normals(prompt_draws, static_cast<std::uint64_t>(groups * kLanes + i));
    omega.at[m] = i < d ? double{task.first} : 0;
    chi.at[m] = i < d ? double{task.second} : 0;
    mean.at[m] = i < n ? double{across.first} : 0;
    gradient.at[m] = i < n ? double{across.second} : 0;
  }
  const Row<kParts> w = product(team, omega, d, d, s.prior_root, d, 1);
  const Row<kParts> query = product(team, chi, d, d, s.query_root, d, 1);
  const Row<kParts> u = product(team, query, d, n, s.scores, n, 1);
  const Row<kParts> whitened_w = product(team, w, d, d, s.token_root, 1, d);
  Row<kParts> a = product(team, u, d, d, s.token_root, 1, d);
  // u and v as a whitened token sees them.
  const double u_y = element(team, u, d);
  Row<kParts> b = Row<kParts>::zero();
  LARGO_UNROLL
  for (int m = 0; m < kParts; ++m) {
    const int i = m * kLanes + team.lane;
    if (i < d) {
      a.at[m] = a.at[m] + u_y * whitened_w.at[m];
      b.at[m] = s.values[i] + v_y * whitened_w.at[m];
    } else if (i == d) {
      a.at[m] = setting.noise * u_y;
      b.at[m] = setting.noise * v_y;
    }
  }
  const Frame<kParts> frame = collapse(team, a, b);
  double output = 0;
  bool refused = false;
  if (run.attention == AttentionKind::linear) {
    const Address normal_draws{run.seed, id, prompts::kMatrixDraws};
    TeamCandidates next{team, normal_draws, {run.seed, id, prompts::kMatrixDraws + prompts::kUniforms}};
    const prompts::CollapsedSums sums = prompts::linear_sums(run.length, frame.alpha, frame.beta, next);
    spread(team, sums, frame, mean, gradient);
    LARGO_UNROLL
    for (int m = 0; m < kParts; ++m) mean.at[m] = mean.at[m] * frame.s;
    output = frame.s * sums.vg;
  } else {
    refused = !(frame.s <= prompts::kLargestSpread);
    const prompts::CollapsedSetting tokens =
        prompts::collapsed_setting(run.length, refused ? 0 : frame.s, frame.alpha, frame.beta);
    const Address token_draws{run.seed, id, 0};
    double total[prompts::kCollapsedSums];
    if (tokens.fixed) {
      sum_tokens<true>(team, token_draws, run.length, tokens.token, total);
    } else {
      sum_tokens<false>(team, token_draws, run.length, tokens.token, total);
    }
    const prompts::CollapsedSums sums = prompts::collapsed_sums(tokens, run.length, total);
    spread(team, sums, frame, mean, gradient);
    output = frame.alpha * sums.g + frame.beta * sums.h;
  }
  const double difference = output - dot(team, w, query);
  const double mean_y = dot(team, whitened_w, mean) + setting.noise * element(team, mean, d);
  const double gradient_y = dot(team, whitened_w, gradient) + setting.noise * element(team, gradient, d);
  if (team.octet != 0) return;
  LARGO_UNROLL
  for (int m = 0; m < kParts; ++m) {
    const int i = m * kLanes + team.lane;
    if (i < d) s.query[at * n + i] = query.at[m] * (2 * difference * setting.score_scale);
    if (i < n) {
      s.mean[at * n + i] = i == d ? mean_y : mean.at[m];
      s.along[at * n + i] = i == d ? gradient_y : gradient.at[m];
    }
  }
  if (team.lane == 0) {
    s.slope[at] = 2 * difference;
    s.loss[at] = refused ? bits_as<double>(std::uint64_t{0x7ff8000000000000}) : difference * difference;
  }
}

}  // namespace largo::cuda
