// An in-context learning problem: the task, the loss and the scale of the scores. Training adds the kind of
// attention, the parameters and the lengths (training_plan.hpp).
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "largo/icl/loss.hpp"
#include "largo/icl/prompt_task.hpp"
#include "largo/icl/regression_problem.hpp"

namespace largo {

struct InContextProblem {
  PromptTaskPtr task;
  LossPtr loss;
  double score_scale = 1;

  /// The same problem with exact risks and flows, if there is one: regression with one output, in which all
  /// laws are centred Gaussian, under the squared loss.
  std::optional<RegressionProblem> exact_regression() const;
};

/// Laws that replace those of a Gaussian regression, as texts (named_law.hpp); empty texts leave them.
struct RegressionTexts {
  std::string covariates = {};  ///< of covariates and queries
  std::string queries = {};     ///< of queries alone
  std::string prior = {};       ///< of the task w
  std::string noise = {};       ///< of the label noise
  std::string loss = {};        ///< named_loss(); empty: squared

  bool empty() const {
    return covariates.empty() && queries.empty() && prior.empty() && noise.empty() && loss.empty();
  }
};

/// A regression problem with some of its laws or its loss replaced. InputError if a law does not have the
/// dimension of the problem.
InContextProblem with_laws(const RegressionProblem& problem, const RegressionTexts& texts,
                           std::string_view prefix = "");

/// Reads a problem from a TOML file (docs/icl.md has the format). InputError, with the line where there is
/// one, for a file that cannot be read, an unknown or missing key, a value of the wrong type or out of range.
InContextProblem read_task_file(const std::filesystem::path& path);

/// The files that a task file names, at any depth, and the file itself; of a file with a mistake, itself
/// alone.
std::vector<std::filesystem::path> files_of_task(const std::filesystem::path& path);

}  // namespace largo
