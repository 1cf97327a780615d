#include "icl_options.hpp"

#include <fmt/core.h>

#include "arguments.hpp"
#include "io/json.hpp"
#include "largo/icl/named_problem.hpp"

namespace largo {

RegressionProblem ProblemOptions::problem() const {
  return named_problem({preset, dimension, covariance, query_covariance, prior, noise, score_scale}, "--");
}

void add_problem_options(CLI::App& command, ProblemOptions& options,
                         std::initializer_list<const char*> without_effect) {
  command
      .add_option("--preset", options.preset,
                  "Problem to start from: paper (identity covariances, no noise), published (the paper's "
                  "experiment) or published-code (with the data as the paper's code draws them)")
      ->check(one_of({"paper", "published", "published-code"}))
      ->capture_default_str();
  command
      .add_option("--d", options.dimension,
                  "Dimension of the covariates (default: 5, or the size of a given matrix)")
      ->transform(whole_number(1, kMostProblemDimensions));
  command
      .add_option("--cov", options.covariance,
                  "Covariance of the covariates: the name of a matrix, or a file")
      ->check(check_given, "");
  command
      .add_option("--query-cov", options.query_covariance, "Covariance of the query (default: that of --cov)")
      ->check(check_given, "");
  command.add_option("--prior", options.prior, "Covariance of the tasks w (default: identity)")
      ->check(check_given, "");
  command.add_option("--noise", options.noise, "Variance of the label noise (default: 0)")
      ->transform(finite_number(Sign::non_negative));
  command.add_option("--score-scale", options.score_scale, "Factor of the scores (default: 1)")
      ->transform(finite_number());
  add_common_options(command, options, without_effect);
}

std::string length_text(const LengthLaw& L) {
  if (!L.is_one_length()) return L.name();
  return L.is_infinite() ? "inf" : fmt::format("{:.15g}", L.longest());
}

io::Json length_json(const LengthLaw& L) {
  return L.is_one_length() ? io::number_json(L.longest()) : io::Json(L.name());
}

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
