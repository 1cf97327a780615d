#include "largo/icl/named_problem.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "largo/icl/regression_maps.hpp"
#include "largo/measures/named_matrix.hpp"
#include "largo/random/streams.hpp"
#include "largo/runtime/check.hpp"

namespace largo {
namespace {

constexpr const char* kIcl = "icl";

std::ptrdiff_t dimension_of(const ProblemText& problem, std::string_view prefix) {
  if (problem.dimension) return *problem.dimension;
  // A covariance from a file or a diagonal has a dimension of its own.
  const std::pair<const char*, const std::string&> matrices[] = {
      {"cov", problem.covariance}, {"query-cov", problem.query_covariance}, {"prior", problem.prior}};
  for (const auto& [option, text] : matrices) {
    if (has_own_size(text)) return named_matrix(fmt::format("{}{}", prefix, option), text).rows();
  }
  return 5;
}

}  // namespace

RegressionProblem named_problem(const ProblemText& text, std::string_view prefix) {
  const auto name = [&](const char* option) { return fmt::format("{}{}", prefix, option); };
  const std::ptrdiff_t d = dimension_of(text, prefix);
  if (d < 1 || d > kMostProblemDimensions) fail(kIcl, name("d"), static_cast<double>(d), "between 1 and 200");
  RegressionProblem problem = paper_problem(Matrix::Identity(d, d));
  if (text.preset == "published" || text.preset == "published-code") {
    problem = published_problem(text.preset == "published" ? PublishedData::paper : PublishedData::code, d);
  } else if (text.preset != "paper") {
    fail(kIcl, name("preset"), fmt::format("'{}'", text.preset), "paper, published or published-code");
  }
  if (!text.covariance.empty()) {
    problem.covariance = named_matrix(name("cov"), text.covariance, d, d);
    problem.query_covariance = problem.covariance;
  }
  if (!text.query_covariance.empty()) {
    problem.query_covariance = named_matrix(name("query-cov"), text.query_covariance, d, d);
  }
  if (!text.prior.empty()) problem.prior_covariance = named_matrix(name("prior"), text.prior, d, d);
  if (text.noise) problem.noise_variance = *text.noise;
  if (text.score_scale) problem.score_scale = *text.score_scale;
  for (const double score : text.sinks) {
    if (!std::isfinite(score)) fail(kIcl, name("sink"), score, "finite");
    problem.sink = problem.has_sink()
                       ? std::max(problem.sink, score) + std::log1p(std::exp(-std::abs(problem.sink - score)))
                       : score;
  }
  check(problem);
  return problem;
}

InvariantPoint named_start(const RegressionProblem& problem, std::optional<double> alpha,
                           std::string_view theta, std::string_view prefix) {
  const double largest = largest_admissible_alpha(problem);
  const std::string name = fmt::format("{}alpha", prefix);
  if (!alpha && !std::isfinite(largest)) {
    fail(kIcl,
         fmt::format("the covariance or the score scale is zero: every start is admissible, give {}", name));
  }
  const double a = alpha.value_or(largest / 2);
  check_finite(kIcl, name, a);
  return paper_start(problem, a, named_matrix(fmt::format("{}theta", prefix), theta, problem.dimension()));
}

RegressionProblem published_problem(PublishedData data, Eigen::Index d) {
  Matrix S(d, d);
  for (Eigen::Index i = 0; i < d; ++i) {
    for (Eigen::Index j = 0; j < d; ++j) S(i, j) = std::pow(0.5, static_cast<double>(std::abs(i - j)));
  }
  const Matrix I = Matrix::Identity(d, d);
  const auto size = static_cast<double>(d);
  const bool paper = data == PublishedData::paper;
  return {paper ? S : Matrix(S * S), paper ? S : I, I / size, 0.1, 1 / std::sqrt(size + 1)};
}

std::vector<double> published_lengths() {
  std::vector<double> lengths;
  for (int i = 1; i < 10; ++i) lengths.push_back(10 * i);
  for (int i = 1; i <= 10; ++i) lengths.push_back(100 * i);
  return lengths;
}

Vector random_factored_start(Eigen::Index d, std::uint64_t seed) {
  Vector start(factored_map(d)->size());
  Stream(seed, 0).uniforms(0, {start.data(), static_cast<std::size_t>(start.size())});
  return (2 * start.array() - 1) / std::sqrt(static_cast<double>(d) + 1);
}

}  // namespace largo
