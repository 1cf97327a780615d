#include "icl_options.hpp"

#include "arguments.hpp"
#include "largo/icl/named_problem.hpp"

namespace largo {

RegressionProblem ProblemOptions::problem() const {
  return named_problem({preset, dimension, covariance, query_covariance, prior, noise, score_scale}, "--");
}

void add_problem_options(CLI::App& command, ProblemOptions& options,
                         std::initializer_list<const char*> without_effect) {
  command
      .add_option("--preset", options.preset,
                  "paper: covariances I, no noise; published: the paper's experiment; published-code: as its "
                  "code draws the data")
      ->check(one_of({"paper", "published", "published-code"}))
      ->capture_default_str();
  command.add_option("--d", options.dimension, "dimension of the covariates (5, or that of a matrix)")
      ->transform(whole_number(1, kMostProblemDimensions));
  command.add_option("--cov", options.covariance, "covariance of the covariates: a matrix by name or file")
      ->check(check_given, "");
  command.add_option("--query-cov", options.query_covariance, "covariance of the query (as --cov)")
      ->check(check_given, "");
  command.add_option("--prior", options.prior, "covariance of the tasks w (identity)")
      ->check(check_given, "");
  command.add_option("--noise", options.noise, "variance of the label noise (0)")
      ->transform(finite_number(Sign::non_negative));
  command.add_option("--score-scale", options.score_scale, "factor of the scores (1)")
      ->transform(finite_number());
  add_common_options(command, options, without_effect);
}

void add_icl_command(CLI::App& app) {
  CLI::App* command = app.add_subcommand(
      "icl", "In-context regression: risks at every prompt length, training, and the length that is enough");
  command->require_subcommand(1);
  command->footer(
      "Example: largo icl threshold --d 5 --epsilon 0.01\n"
      "largo icl risk --help, train --help and threshold --help explain the three.");
  add_icl_risk_command(*command);
  add_icl_train_command(*command);
  add_icl_threshold_command(*command);
}

}  // namespace largo
