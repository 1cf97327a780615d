// The experiment published with the paper: d = 5, Σ_ij = 0.5^|i-j|, label noise of variance 0.1, tasks N(0,
// I/d), scores over √(d+1), K, Q, V and an output row trained by plain stochastic gradient descent, 300,000
// steps of 1e-3 with 128 fresh prompts each, for 19 lengths, softmax and linear attention, on the squared
// error without ½.
#pragma once

#include <cstdint>
#include <vector>

#include "largo/icl/regression_problem.hpp"

namespace largo {

enum class PublishedData : std::uint8_t {
  paper,  ///< prompts and queries have covariance Σ, as the text says
  code,   ///< prompts Σ² and queries I: the code applies Σ^{1/2} twice to prompts and never to queries
};

inline constexpr std::int64_t kPublishedSteps = 300000;
inline constexpr double kPublishedStepSize = 1e-3;
inline constexpr std::int64_t kPublishedBatch = 128;

RegressionProblem published_problem(PublishedData data, Eigen::Index d = 5);

/// 10, 20, …, 90, 100, 200, …, 1000
std::vector<double> published_lengths();

/// K, Q, V and the output row as linear layers start in PyTorch, uniform on ±1/√(d+1), in the layout of
/// factored_map(). (The publication does not say how it starts.)
Vector random_factored_start(Eigen::Index d, std::uint64_t seed);

}  // namespace largo
