// --alpha and --theta: where training starts.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "largo/icl/regression_flow.hpp"

namespace largo {

struct StartOptions {
  std::optional<double> alpha;  ///< none: half of the largest admissible
  std::string theta = "identity";

  /// Adds a warning where the start is outside the range of the paper's theorem.
  InvariantPoint read(const RegressionProblem& problem, std::vector<std::string>& warnings) const;
};

void add_start_options(CLI::App& command, StartOptions& options);

}  // namespace largo
