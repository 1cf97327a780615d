#include "icl_options.hpp"

#include <fmt/core.h>

#include "arguments.hpp"
#include "io/json.hpp"
#include "largo/icl/named_problem.hpp"
#include "largo/measures/named_matrix.hpp"
#include "largo/runtime/check.hpp"

namespace largo {

std::optional<InContextProblem> ProblemOptions::other() const {
  if (!task.empty()) {
    const bool more = preset != "paper" || dimension || !covariance.empty() || !query_covariance.empty() ||
                      !prior.empty() || noise || score_scale || !sinks.empty() || !laws.empty();
    if (more) {
      fail("icl", "--task", fmt::format("'{}'", task),
           "given alone: it describes the whole problem, so remove --d, --cov, --loss and the like");
    }
    return read_task_file(task);
  }
  if (laws.empty()) return std::nullopt;
  const auto refuse_both = [](const char* law, const std::string& text, const char* option, bool given) {
    if (text.empty() || !given) return;
    fail("icl", law, fmt::format("'{}'", text), fmt::format("given without {}, which it replaces", option));
  };
  refuse_both("--query-law", laws.queries, "--query-cov", !query_covariance.empty());
  refuse_both("--prior-law", laws.prior, "--prior", !prior.empty());
  refuse_both("--noise-law", laws.noise, "--noise", noise.has_value());
  return with_laws(problem(), laws, "--");
}

std::vector<std::string> ProblemOptions::files() const {
  std::vector<std::string> files;
  if (!task.empty()) {
    for (const std::filesystem::path& file : files_of_task(task)) files.push_back(file.string());
  }
  return files;
}

RegressionProblem ProblemOptions::problem() const {
  return named_problem({preset, dimension, covariance, query_covariance, prior, noise, score_scale, sinks},
                       "--");
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
  add_text_option(command, "--cov", options.covariance,
                  "Covariance of the covariates: the name of a matrix, or a file");
  add_text_option(command, "--query-cov", options.query_covariance,
                  "Covariance of the query (default: that of --cov)");
  add_text_option(command, "--prior", options.prior, "Covariance of the tasks w (default: identity)");
  command.add_option("--noise", options.noise, "Variance of the label noise (default: 0)")
      ->transform(finite_number(Sign::non_negative));
  add_text_option(command, "--task", options.task,
                  "A TOML file that describes the whole problem: its laws, loss and outputs (docs/icl.md)");
  add_text_option(command, "--covariates", options.laws.covariates,
                  "Another law of covariates and queries (rademacher, uniform, sphere, …)");
  add_text_option(command, "--query-law", options.laws.queries, "Another law of the queries alone");
  add_text_option(command, "--prior-law", options.laws.prior, "Another law of the tasks w");
  add_text_option(command, "--noise-law", options.laws.noise, "Another law of the label noise");
  add_text_option(command, "--loss", options.laws.loss,
                  "Loss: squared (half the squared error, the default), huber:DELTA, absolute or logistic");
  command.add_option("--score-scale", options.score_scale, "Factor of the scores (default: 1)")
      ->transform(finite_number());
  command
      .add_option(
          "--sink", options.sinks,
          "Score of a token of value zero that stands in every prompt: 0 is the constant of \"softmax plus "
          "one\"; may be repeated. Exact risks and flows on the invariant set know it")
      ->take_all()
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

RegressionParameters StartOptions::read_head() const {
  if (U.empty() || V.empty() || given()) {
    fail("icl", "give either --start-U and --start-V, or --alpha and --theta");
  }
  const Matrix scores = named_matrix("--start-U", U, std::nullopt, std::nullopt);
  const RowMatrix values = named_matrix("--start-V", V, std::nullopt, scores.rows());
  return {scores, values.reshaped<Eigen::RowMajor>()};
}

void add_start_options(CLI::App& command, StartOptions& options) {
  command
      .add_option(
          "--alpha", options.alpha,
          "Start at A = alpha Theta Theta^T/|Theta Theta^T|, b = alpha (default: half the admissible range)")
      ->transform(finite_number(Sign::positive));
  add_text_option(command, "--theta", options.theta, "Matrix Theta of the start, d x k")
      ->capture_default_str();
}

}  // namespace largo
