// The claim that the risk of in-context regression is known exactly at every prompt length.
#include <cmath>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "claims/chance.hpp"
#include "claims/claims.hpp"
#include "claims/plain_mean.hpp"
#include "claims/random_layers.hpp"
#include "largo/icl/exact_risk.hpp"
#include "largo/icl/invariant_risk.hpp"
#include "largo/icl/law_regression.hpp"
#include "largo/icl/prompt_risk.hpp"
#include "largo/measures/gaussian.hpp"
#include "largo/measures/named_matrix.hpp"
#include "largo/random/streams.hpp"

namespace largo::claims {
namespace {

// Batches are independent, and there are enough of them for a standard error.
constexpr int kBatches = 100;
constexpr double kMostNumericalError = 1e-5;  // what exact_risk() promises
constexpr double kScoreNorm = 0.5;            // of U: rare draws of large scores do not carry the averages

Matrix drawn(int number, Eigen::Index rows, Eigen::Index columns) {
  return named_matrix("matrix", fmt::format("random:{}", number), rows, columns);
}

Matrix drawn_covariance(int number, Eigen::Index d) {
  const Matrix root = drawn(number, d, d);
  return (root * root.transpose() + 0.2 * Matrix::Identity(d, d)) / static_cast<double>(d);
}

struct RiskCase {
  RegressionProblem problem;
  RegressionParameters parameters;
  Vector direction;  // in which the slope of the risk is compared
};

RiskCase random_case(Eigen::Index d) {
  const int first = 40 + 10 * static_cast<int>(d);
  RiskCase found{
      {drawn_covariance(first, d), drawn_covariance(first + 1, d), drawn_covariance(first + 2, d), 0.3, 1},
      {with_norm(drawn(first + 3, d + 1, d + 1), kScoreNorm), drawn(first + 4, d + 1, 1).col(0)},
      drawn(first + 5, (d + 1) * (d + 2), 1).col(0)};
  found.direction.normalize();
  return found;
}

MeasurePtr centred(const Matrix& covariance) {
  return std::make_shared<GaussianMeasure>(Vector::Zero(covariance.rows()), covariance);
}

PromptTaskPtr task_of(const RegressionProblem& problem) {
  return std::make_shared<LawRegression>(
      RegressionLaws{.covariates = centred(problem.covariance),
                     .queries = centred(problem.query_covariance),
                     .prior = centred(problem.prior_covariance),
                     .noise = centred(Matrix::Constant(1, 1, problem.noise_variance))});
}

// Beside a sink, on the invariant set: A and b, and the mean of the loss over prompts drawn token by token.
struct SinkCase {
  RegressionProblem problem;
  Matrix A;
  double b = 1.2;
};

SinkCase sink_case(Eigen::Index d, double sink) {
  const int first = 40 + 10 * static_cast<int>(d);
  SinkCase found{random_case(d).problem, with_norm(drawn(first + 6, d, d), 1)};
  found.problem.sink = sink;
  return found;
}

PlainMean simulated_loss(const SinkCase& given, std::int64_t L, std::int64_t prompts, std::uint64_t seed) {
  const auto root = [](const Matrix& covariance) -> Matrix { return covariance.llt().matrixL(); };
  const Matrix tokens = root(given.problem.covariance), queries = root(given.problem.query_covariance),
               tasks = root(given.problem.prior_covariance);
  const Eigen::Index d = given.A.rows();
  std::vector<double> losses(static_cast<std::size_t>(prompts));
  std::vector<double> normals(static_cast<std::size_t>((L + 2) * d + L));
  for (std::int64_t i = 0; i < prompts; ++i) {
    Stream(seed, static_cast<std::uint64_t>(i)).normals(0, normals);
    const double* next = normals.data();
    const auto draw = [&](const Matrix& by) -> Vector {
      const Eigen::Map<const Vector> z(next, d);
      next += d;
      return by * z;
    };
    const Vector w = draw(tasks), query = draw(queries), a = given.A * query;
    double S = std::exp(given.problem.sink), labels = 0;
    for (std::int64_t k = 0; k < L; ++k) {
      const Vector x = draw(tokens);
      const double label = w.dot(x) + std::sqrt(given.problem.noise_variance) * *next++;
      const double weight = std::exp(a.dot(x));
      S += weight;
      labels += weight * label;
    }
    const double miss = given.b * labels / S - w.dot(query);
    losses[static_cast<std::size_t>(i)] = 0.5 * miss * miss;
  }
  return mean_of(losses, [](double loss) { return loss; });
}

}  // namespace

report::ReportSection exact_risk_claim(const ClaimOptions& options) {
  const bool little = options.quick || options.control;
  const std::int64_t prompts = options.full ? 20000 : little ? 500 : 2000;
  const std::vector<double> lengths = little ? std::vector<double>{5, 50} : std::vector<double>{5, 50, 500};
  const std::vector<Eigen::Index> dimensions =
      little ? std::vector<Eigen::Index>{3} : std::vector<Eigen::Index>{1, 3, 5};
  report::ReportTable table{"Risk and its slope in a random direction of (U, v), exact and simulated.",
                            {"d", "L", "number", "exact", "simulated", "standard error"}};
  constexpr const char* kNumbers[] = {"risk", "slope"};
  std::vector<Panel> panels;
  for (const char* name : kNumbers) {
    panels.push_back({.title = name,
                      .x_label = "prompt length L",
                      .y_label = "simulated − exact, in standard errors",
                      .log_y = false});
  }
  double worst = 0, beside_sink = 0, numerical = 0;
  for (const Eigen::Index d : dimensions) {
    const RiskCase given = random_case(d);
    const Vector at = to_vector(given.parameters);
    RegressionParameters of_exact = given.parameters;
    if (options.control == 1) of_exact.U.transposeInPlace();
    for (Panel& panel : panels) {
      panel.curves.push_back({.label = fmt::format("d = {}", d),
                              .style = Curve::Style::points,
                              .color = static_cast<int>(panel.curves.size())});
    }
    for (const double L : lengths) {
      const RiskAndGradient exact = exact_risk_and_gradient(given.problem, L, of_exact, options.execution);
      const PromptBatches batches({.task = task_of(given.problem),
                                   .loss = squared_loss(),
                                   .length = L,
                                   .seed = options.seed + static_cast<std::uint64_t>(d)},
                                  prompts, options.execution);
      std::vector<RiskPoint> points;
      for (std::int64_t k = 0; k < kBatches; ++k) points.push_back(batches.batch(at, k));
      const auto slope_of = [&](const RiskPoint& point) { return point.gradient.dot(given.direction); };
      const PlainMean simulated[] = {mean_of(points, [](const RiskPoint& point) { return point.value; }),
                                     mean_of(points, slope_of)};
      const double known[] = {exact.risk.value, exact.gradient.dot(given.direction)};
      for (std::size_t k = 0; k < panels.size(); ++k) {
        const PlainMean& found = simulated[k];
        table.rows.push_back({static_cast<double>(d), L, kNumbers[k], known[k], found.value, found.error});
        add_point(panels[k].curves.back(), L, {found.value - known[k], found.error}, found.error);
        worst = larger(worst, found.z_score(known[k]));
      }
      numerical = larger(numerical, exact.risk.error / exact.risk.value);
    }
  }
  constexpr double kSink = 4;
  const std::int64_t drawn_prompts = prompts * kBatches / 10;
  for (const double L : lengths) {
    const SinkCase given = sink_case(dimensions.back(), kSink);
    Vector at(given.A.size() + 1);
    at << given.A.reshaped(), given.b;
    RegressionProblem known = given.problem;
    if (options.control == 2) known.sink = -std::numeric_limits<double>::infinity();
    const RiskPoint exact = invariant_risk(known, AttentionKind::softmax, L)->at(at);
    const PlainMean found =
        simulated_loss(given, static_cast<std::int64_t>(L), drawn_prompts, options.seed + 77);
    table.rows.push_back({static_cast<double>(dimensions.back()), L, "risk beside a sink", exact.value,
                          found.value, found.error});
    beside_sink = larger(beside_sink, found.z_score(exact.value));
  }
  report::ReportSection claim{
      .computed = fmt::format(
          "Random covariances of tokens, queries and tasks, noise of variance 0.3, and random U and v with "
          "all their blocks, so off the invariant set, in d = {}: the risk and its slope in a random "
          "direction by quadrature, and averages over {} prompts whose tokens were drawn. U has the norm {}: "
          "where scores are larger, rare draws carry the averages, and a sample is no check. On the "
          "invariant set "
          "also the risk with a sink in the prompt, a token of score {} and value zero, and {} prompts drawn "
          "token by token; its points are in the table alone.{}",
          fmt::join(dimensions, ", "), report::shown(static_cast<double>(prompts * kBatches)), kScoreNorm,
          kSink, report::shown(static_cast<double>(drawn_prompts)),
          chance_text(table.rows.size() - lengths.size()))};
  claim.numbers = {
      largest_distance("simulated and exact number", worst, table.rows.size() - lengths.size()),
      largest_distance("simulated and exact risk beside a sink", beside_sink, lengths.size()),
      {"largest error that the quadrature reports, relative to the risk", numerical, kMostNumericalError}};
  claim.tables = {table};
  claim.figures = {
      {"exact-risk", {panels, "Simulated less exact numbers; bars are two standard errors to either side."}}};
  return decided(std::move(claim));
}

}  // namespace largo::claims
