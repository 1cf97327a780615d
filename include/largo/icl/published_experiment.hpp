// The experiment published with the paper. Data: d = 5, Σ_ij = 0.5^|i-j|, label noise of variance 0.1, tasks
// N(0, I/d), scores divided by √(d+1). Training: K, Q, V and an output row by plain stochastic gradient
// descent, 300,000 steps of 1e-3 with 128 fresh prompts each, on the squared error without ½. It is done for
// 19 lengths, with softmax and with linear attention.
#pragma once

#include <cstdint>
#include <vector>

#include "largo/icl/regression_problem.hpp"

namespace largo {

enum class PublishedData : std::uint8_t {
  paper,  ///< prompts and queries have covariance Σ, as the text of the paper says
  code,   ///< prompts have Σ², queries I: the code applies Σ^{1/2} twice to prompts, never to queries
};

inline constexpr std::int64_t kPublishedSteps = 300000;
inline constexpr double kPublishedStepSize = 1e-3;
inline constexpr std::int64_t kPublishedBatch = 128;

RegressionProblem published_problem(PublishedData data, Eigen::Index d = 5);

/// 10, 20, …, 90, 100, 200, …, 1000
std::vector<double> published_lengths();

/// A random start: K, Q, V and the output row are uniform on ±1/√(d+1), as linear layers start in PyTorch, in
/// the layout of factored_map(). (The publication does not say how it starts.)
Vector random_factored_start(Eigen::Index d, std::uint64_t seed);

}  // namespace largo
