// The options that describe the task of in-context regression and where training starts, shared by the
// commands of largo icl.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "command.hpp"
#include "largo/icl/in_context_problem.hpp"
#include "largo/icl/regression_flow.hpp"
#include "largo/icl/regression_problem.hpp"
#include "output.hpp"

namespace largo {

struct ProblemOptions : CommonOptions {
  std::string preset = "paper";
  std::optional<std::ptrdiff_t> dimension;
  std::string covariance, query_covariance, prior;  ///< empty means the preset's
  std::optional<double> noise, score_scale;
  std::vector<double> sinks;
  std::string task;      ///< a file that describes the whole problem
  RegressionTexts laws;  ///< laws in place of the Gaussian ones, and the loss

  RegressionProblem problem() const;
  /// The problem of --task, or of the options that replace a law or the loss; none for Gaussian regression.
  std::optional<InContextProblem> other() const;
  /// The files that other() reads.
  std::vector<std::string> files() const;
  bool published() const { return preset != "paper"; }
};

/// Adds --task, --covariates, --query-law, --prior-law, --noise-law, --loss, --preset, --d, --cov,
/// --query-cov, --prior, --noise, --score-scale, --sink, and the common options (some of them
/// `without_effect`).
void add_problem_options(CLI::App& command, ProblemOptions& options,
                         std::initializer_list<const char*> without_effect = {});

/// A length as a table or CSV file and as JSON show it; a law of lengths by its name.
std::string length_text(const LengthLaw& L);
io::Json length_json(const LengthLaw& L);

void add_icl_assumptions_command(CLI::App& icl);
void add_icl_risk_command(CLI::App& icl);
void add_icl_train_command(CLI::App& icl);
void add_icl_single_location_command(CLI::App& icl);
void add_icl_threshold_command(CLI::App& icl);

/// The number of draws for problems whose risks are averages over draws.
inline constexpr std::int64_t kMostDraws = std::int64_t{1} << 30;

// --alpha and --theta: where training starts.

struct StartOptions {
  std::optional<double> alpha;  ///< if empty, half of the largest admissible one
  std::string theta = "identity";
  std::string U, V;  ///< any other start

  bool given() const { return alpha.has_value() || theta != "identity"; }
  InvariantPoint read(const RegressionProblem& problem) const;
  /// U, and the rows of V one after the other. InputError if one of them is missing.
  RegressionParameters read_head() const;
};

void add_start_options(CLI::App& command, StartOptions& options);

}  // namespace largo
