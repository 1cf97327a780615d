#include "claims/signs_in_training.hpp"

#include <cmath>
#include <memory>
#include <utility>

#include "claims/random_layers.hpp"
#include "largo/concentration/exact_errors.hpp"
#include "largo/icl/law_regression.hpp"
#include "largo/measures/empirical.hpp"
#include "largo/measures/product.hpp"
#include "largo/training/gradient_flow.hpp"
#include "runtime/parallel.hpp"

namespace largo::claims {
namespace {

// Parameters are (‖A‖, b) = (a√d, b), in which the metric is that of (A, b).
class SignsRisk final : public Risk {
 public:
  explicit SignsRisk(Eigen::Index d) : d_(static_cast<double>(d)) {}
  Eigen::Index size() const override { return 2; }
  RiskPoint at(const ConstVectorRef& parameters) const override {
    const double t = std::tanh(parameters[0] / std::sqrt(d_)), b = parameters[1], off = b * t - 1;
    return {0.5 * d_ * off * off, 0, Vector{{std::sqrt(d_) * off * b * (1 - t * t), d_ * off * t}}};
  }

 private:
  double d_;
};

double binomial(Eigen::Index n, Eigen::Index k) {
  double product = 1;
  for (Eigen::Index i = 1; i <= k; ++i) product *= static_cast<double>(n - k + i) / static_cast<double>(i);
  return product;
}

// Queries with 0 to d negative signs, for the label of the query a zero.
MeasurePtr sign_classes(Eigen::Index d) {
  RowMatrix queries = RowMatrix::Ones(d + 1, d + 1);
  Vector weights(d + 1);
  for (Eigen::Index k = 0; k <= d; ++k) {
    queries.row(k).head(k).setConstant(-1);
    weights[k] = binomial(d, k);
  }
  queries.col(d).setZero();
  return std::make_shared<EmpiricalMeasure>(queries, weights);
}

// Tokens (x, <w, x>) for w = (1, …, 1)
MeasurePtr tokens_of_first_task(Eigen::Index d) {
  const RowMatrix signs = sign_vectors(d);
  RowMatrix tokens(signs.rows(), d + 1);
  tokens << signs, signs.rowwise().sum();
  return std::make_shared<EmpiricalMeasure>(tokens);
}

}  // namespace

PromptTaskPtr signs_task(Eigen::Index d) {
  const auto signs = std::make_shared<ProductMeasure>(d, rademacher());
  return std::make_shared<LawRegression>(RegressionLaws{.covariates = signs, .prior = signs});
}

std::vector<PointOnPath> signs_path(Eigen::Index d, double alpha, int count) {
  const FlowResult flow = gradient_flow(SignsRisk(d), Vector{{alpha, alpha}}, {.relative_tolerance = 1e-8});
  const double root = std::sqrt(static_cast<double>(d));
  const auto head = [&](const Vector& at) {
    return InvariantPoint{Matrix(at[0] / root * Matrix::Identity(d, d)), at[1]};
  };
  // Scores have the variance a² d at every query.
  return points_along(
      flow.trajectory, head, [&](const InvariantPoint& at) { return at.A(0, 0); }, count);
}

ErrorsOnPath signs_errors(Eigen::Index d, std::vector<PointOnPath> path, std::vector<double> lengths,
                          const Execution& execution) {
  const MeasurePtr tokens = tokens_of_first_task(d), queries = sign_classes(d);
  std::vector<std::vector<ErrorsAt>> errors(path.size(), std::vector<ErrorsAt>(lengths.size()));
  double spread = 0;
  for (const PointOnPath& point : path)
    spread = larger(spread, std::sqrt(static_cast<double>(d)) * point.head.A(0, 0));
  runtime::parallel_for(static_cast<std::ptrdiff_t>(path.size()), execution, [&](std::ptrdiff_t i) {
    const auto at = static_cast<std::size_t>(i);
    const MergedWeights weights = weights_of(path[at].head);
    const ExactErrors exact({tokens, weights.U, weights.V, queries});
    for (std::size_t l = 0; l < lengths.size(); ++l) {
      const LayerErrors found = exact(lengths[l], 1, execution);
      errors[at][l] = {found.output.value, found.gradient_V.value, found.gradient_U.value().value};
    }
  });
  return {std::move(path), std::move(lengths), spread, std::move(errors)};
}

}  // namespace largo::claims
