// The task of in-context regression and the start of training, as texts from options and study files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "largo/icl/invariant_set.hpp"
#include "largo/icl/regression_problem.hpp"

namespace largo {

/// A problem as text. What is not given comes from the preset: paper (covariances I, no noise), published
/// (the paper's experiment) or published-code (as its code draws the data). Matrices are named as in
/// named_matrix.hpp.
struct ProblemText {
  std::string preset = "paper";
  std::optional<std::ptrdiff_t> dimension;  ///< if not given: that of a matrix with its own size, else 5
  std::string covariance, query_covariance, prior;
  std::optional<double> noise, score_scale;
  std::vector<double> sinks = {};  ///< the scores of tokens of value zero that stand in every prompt
};

inline constexpr std::ptrdiff_t kMostProblemDimensions = 200;

/// Makes the problem. `prefix` is put before the names of options in messages, for example "--" on the
/// command line. InputError as check(), and for more than kMostProblemDimensions dimensions.
RegressionProblem named_problem(const ProblemText& text, std::string_view prefix = "");

/// The paper's start for α and the named matrix Θ. Without α: half of the largest admissible one.
InvariantPoint named_start(const RegressionProblem& problem, std::optional<double> alpha,
                           std::string_view theta = "identity", std::string_view prefix = "");

// The experiment published with the paper. Data: d = 5, Σ_ij = 0.5^|i-j|, label noise of variance 0.1, tasks
// N(0, I/d), scores divided by √(d+1). Training: K, Q, V and an output row by plain stochastic gradient
// descent, 300,000 steps of 1e-3 with 128 fresh prompts each, on the squared error without ½. It is done for
// 19 lengths, with softmax and with linear attention.

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
