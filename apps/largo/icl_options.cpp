#include "icl_options.hpp"

#include "arguments.hpp"
#include "largo/icl/published_experiment.hpp"
#include "largo/measures/named_matrix.hpp"
#include "largo/numerics/check.hpp"

namespace largo {
namespace {

constexpr const char* kName = "icl";
constexpr std::ptrdiff_t kMostDimensions = 200;

std::ptrdiff_t dimension_of(const ProblemOptions& options) {
  if (options.dimension) return *options.dimension;
  // A covariance from a file or a diagonal says it.
  const std::pair<const char*, const std::string&> matrices[] = {
      {"--cov", options.covariance}, {"--query-cov", options.query_covariance}, {"--prior", options.prior}};
  for (const auto& [option, text] : matrices) {
    if (has_own_size(text)) return named_matrix(option, text).rows();
  }
  return 5;
}

}  // namespace

RegressionProblem ProblemOptions::problem() const {
  const std::ptrdiff_t d = dimension_of(*this);
  if (d < 1 || d > kMostDimensions) fail(kName, "--d", static_cast<double>(d), "between 1 and 200");
  RegressionProblem problem = paper_problem(Matrix::Identity(d, d));
  if (published()) {
    problem = published_problem(preset == "published" ? PublishedData::paper : PublishedData::code, d);
  }
  if (!covariance.empty()) {
    problem.covariance = named_matrix("--cov", covariance, d, d);
    problem.query_covariance = problem.covariance;
  }
  if (!query_covariance.empty()) {
    problem.query_covariance = named_matrix("--query-cov", query_covariance, d, d);
  }
  if (!prior.empty()) problem.prior_covariance = named_matrix("--prior", prior, d, d);
  if (noise) problem.noise = *noise;
  if (score_scale) problem.score_scale = *score_scale;
  check(problem);
  return problem;
}

void add_problem_options(CLI::App& command, ProblemOptions& options) {
  command
      .add_option("--preset", options.preset,
                  "paper: covariances I, no noise; published: the paper's experiment; published-code: as its "
                  "code draws the data")
      ->check(CLI::IsMember({"paper", "published", "published-code"}))
      ->capture_default_str();
  command.add_option("--d", options.dimension, "dimension of the covariates (5, or that of a matrix)");
  command.add_option("--cov", options.covariance, "covariance of the covariates: a matrix by name or file")
      ->check(check_given, "");
  command.add_option("--query-cov", options.query_covariance, "covariance of the query (as --cov)")
      ->check(check_given, "");
  command.add_option("--prior", options.prior, "covariance of the tasks w (identity)")
      ->check(check_given, "");
  command.add_option("--noise", options.noise, "variance of the label noise (0)");
  command.add_option("--score-scale", options.score_scale, "factor of the scores (1)");
  add_common_options(command, options);
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
