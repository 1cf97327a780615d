#include "icl_start.hpp"

#include <fmt/core.h>

#include "arguments.hpp"
#include "largo/icl/named_problem.hpp"

namespace largo {

InvariantPoint StartOptions::read(const RegressionProblem& problem,
                                  std::vector<std::string>& warnings) const {
  InvariantPoint start = named_start(problem, alpha, theta, "--");
  const double largest = largest_admissible_alpha(problem);
  if (alpha && *alpha >= largest) {
    warnings.push_back(fmt::format(
        "alpha = {:g} is not below {:.6g}: the theorem about the limit of training does not apply", *alpha,
        largest));
  }
  if (problem.score_scale < 0) {
    warnings.emplace_back(
        "the score scale is negative: the start is on the far side of zero, and the theorem does not apply");
  }
  return start;
}

void add_start_options(CLI::App& command, StartOptions& options) {
  command
      .add_option(
          "--alpha", options.alpha,
          "the start A = alpha Theta Theta^T/|Theta Theta^T|, b = alpha (half of the admissible range)")
      ->transform(finite_number(Sign::positive));
  command.add_option("--theta", options.theta, "Theta, d x k")->check(check_given, "")->capture_default_str();
}

}  // namespace largo
