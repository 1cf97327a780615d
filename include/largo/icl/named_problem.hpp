// The task of in-context regression and the start of training, as texts from options and study files.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

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
};

inline constexpr std::ptrdiff_t kMostProblemDimensions = 200;

/// Makes the problem. `prefix` is put before the names of options in messages, for example "--" on the
/// command line. InputError as check(), and for more than kMostProblemDimensions dimensions.
RegressionProblem named_problem(const ProblemText& text, std::string_view prefix = "");

/// The paper's start for α and the named matrix Θ. Without α: half of the largest admissible one.
InvariantPoint named_start(const RegressionProblem& problem, std::optional<double> alpha,
                           std::string_view theta = "identity", std::string_view prefix = "");

}  // namespace largo
