// The options that describe the task of in-context regression and where training starts, shared by the
// commands of largo icl.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "command.hpp"
#include "largo/icl/regression_flow.hpp"
#include "largo/icl/regression_problem.hpp"
#include "output.hpp"

namespace largo {

struct ProblemOptions : CommonOptions {
  std::string preset = "paper";
  std::optional<std::ptrdiff_t> dimension;
  std::string covariance, query_covariance, prior;  ///< empty means the preset's
  std::optional<double> noise, score_scale;

  RegressionProblem problem() const;
  bool published() const { return preset != "paper"; }
};

/// Adds --preset, --d, --cov, --query-cov, --prior, --noise, --score-scale, and the common options (some of
/// them `without_effect`).
void add_problem_options(CLI::App& command, ProblemOptions& options,
                         std::initializer_list<const char*> without_effect = {});

/// A length as a table or CSV file and as JSON show it; a law of lengths by its name.
std::string length_text(const LengthLaw& L);
io::Json length_json(const LengthLaw& L);

void add_icl_risk_command(CLI::App& icl);
void add_icl_train_command(CLI::App& icl);
void add_icl_threshold_command(CLI::App& icl);

// --alpha and --theta: where training starts.

struct StartOptions {
  std::optional<double> alpha;  ///< if empty, half of the largest admissible one
  std::string theta = "identity";

  bool given() const { return alpha.has_value() || theta != "identity"; }
  InvariantPoint read(const RegressionProblem& problem) const;
};

void add_start_options(CLI::App& command, StartOptions& options);

}  // namespace largo
