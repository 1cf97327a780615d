#include "icl_start.hpp"

#include <fmt/core.h>

#include "arguments.hpp"
#include "largo/icl/named_problem.hpp"

namespace largo {

InvariantPoint StartOptions::read(const RegressionProblem& problem) const {
  return named_start(problem, alpha, theta, "--");
}

void add_start_options(CLI::App& command, StartOptions& options) {
  command
      .add_option(
          "--alpha", options.alpha,
          "Start at A = alpha Theta Theta^T/|Theta Theta^T|, b = alpha (default: half the admissible range)")
      ->transform(finite_number(Sign::positive));
  command.add_option("--theta", options.theta, "Matrix Theta of the start, d x k")
      ->check(check_given, "")
      ->capture_default_str();
}

}  // namespace largo
