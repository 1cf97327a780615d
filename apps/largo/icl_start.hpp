// --alpha and --theta: where training starts.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "largo/icl/regression_flow.hpp"

namespace largo {

struct StartOptions {
  std::optional<double> alpha;  ///< none means half of the largest admissible one
  std::string theta = "identity";

  bool given() const { return alpha.has_value() || theta != "identity"; }
  InvariantPoint read(const RegressionProblem& problem) const;
};

void add_start_options(CLI::App& command, StartOptions& options);

}  // namespace largo
