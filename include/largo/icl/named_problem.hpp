// The task of in-context regression, and where training starts, as given to options and in study files.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "largo/icl/invariant_set.hpp"
#include "largo/icl/regression_problem.hpp"

namespace largo {

/// What is not given is the preset's: paper (covariances I, no noise), published (the paper's experiment) or
/// published-code (as its code draws the data). Matrices are those of named_matrix.hpp.
struct ProblemText {
  std::string preset = "paper";
  std::optional<std::ptrdiff_t> dimension;  ///< none: that of a matrix that says it, else 5
  std::string covariance, query_covariance, prior;
  std::optional<double> noise, score_scale;
};

inline constexpr std::ptrdiff_t kMostProblemDimensions = 200;

/// `prefix` is what the names of the options begin with in messages: "--" on the command line. InputError as
/// check(), and for more dimensions than these.
RegressionProblem named_problem(const ProblemText& text, std::string_view prefix = "");

/// The paper's start for α and the matrix Θ by name; without α half of the largest admissible one.
InvariantPoint named_start(const RegressionProblem& problem, std::optional<double> alpha,
                           std::string_view theta = "identity", std::string_view prefix = "");

}  // namespace largo
