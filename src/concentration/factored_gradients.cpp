#include "largo/concentration/factored_gradients.hpp"

#include <algorithm>
#include <cmath>

#include "largo/measures/affine.hpp"
#include "largo/measures/empirical.hpp"
#include "largo/measures/gaussian.hpp"
#include "largo/runtime/check.hpp"

namespace largo {
namespace {

// Below this share of the largest eigenvalue of KᵀK, the smallest is raised.
constexpr double kWellConditioned = 0.01;

// The law of Az. A Gaussian stays one, since exact errors know Gaussians by their type.
MeasurePtr image_of(const Matrix& A, const MeasurePtr& law) {
  if (const auto* gaussian = dynamic_cast<const GaussianMeasure*>(law.get())) {
    const Matrix covariance = A * gaussian->covariance() * A.transpose();
    return std::make_shared<GaussianMeasure>(A * gaussian->mean(),
                                             0.5 * (covariance + covariance.transpose()));
  }
  return std::make_shared<AffineMeasure>(A, Vector::Zero(A.rows()), law);
}

Queries image_of(const Matrix& A, const Queries& queries) {
  if (const auto* query = std::get_if<Vector>(&queries)) return Vector(A * *query);
  const FiniteQueries finite = finite_queries(queries);
  if (finite.rows.rows() == 0) return image_of(A, std::get<MeasurePtr>(queries));
  return std::make_shared<const EmpiricalMeasure>(RowMatrix(finite.rows * A.transpose()),
                                                  finite.probabilities);
}

std::shared_ptr<const ExactErrors> errors_of(const AttentionLayer& layer) {
  if (missing_formula(layer)) return nullptr;
  return std::make_shared<const ExactErrors>(layer);
}

}  // namespace

FactoredGradients::FactoredGradients(const MeasurePtr& tokens, const FactoredWeights& weights,
                                     const Queries& queries) {
  constexpr auto kName = "gradients in K and Q";
  if (weights.score_scale != 1) fail(kName, "score_scale", weights.score_scale, "1: put it into K or Q");
  const MergedWeights merged = weights.merged();
  const AttentionLayer layer{tokens, merged.U, merged.V, queries};
  plain_ = std::make_shared<const ExactErrors>(layer);
  keys_ = errors_of({tokens, weights.K.transpose(), weights.V, image_of(weights.Q, queries)});
  is_zero_ = weights.K.isZero(0);
  if (is_zero_) return;
  const Matrix gram = weights.K.transpose() * weights.K;
  if (!gram.allFinite() || !(gram.trace() > 0)) {
    fail(kName, "largest entry of K", weights.K.cwiseAbs().maxCoeff(),
         "such that its square is a number: scale K");
  }
  const Eigen::SelfAdjointEigenSolver<Matrix> eigen(gram);
  const double largest = eigen.eigenvalues().maxCoeff();
  if (!(eigen.eigenvalues().minCoeff() >= kWellConditioned * largest)) shift_ = kWellConditioned * largest;
  const Vector roots = (eigen.eigenvalues().array().max(0.0) + shift_).sqrt();
  const auto with = [&](const Vector& values) {
    return Matrix(eigen.eigenvectors() * values.asDiagonal() * eigen.eigenvectors().transpose());
  };
  const Matrix inverse = with(roots.cwiseInverse());
  queries_ = errors_of({image_of(with(roots), tokens), inverse * merged.U, merged.V * inverse, queries});
}

FactoredErrors FactoredGradients::operator()(double L, double sigma, const Execution& execution) const {
  FactoredErrors errors;
  if (keys_) errors.gradient_K = (*keys_)(L, sigma, execution).gradient_U;
  if (is_zero_) errors.gradient_Q.emplace();
  if (!queries_) return errors;
  errors.gradient_Q = (*queries_)(L, sigma, execution).gradient_U;
  if (!errors.gradient_Q || shift_ == 0) return errors;
  const std::optional<Estimate> plain = (*plain_)(L, sigma, execution).gradient_U;
  if (!plain) return {errors.gradient_K, std::nullopt};
  errors.gradient_Q->value = std::max(0.0, errors.gradient_Q->value - shift_ * plain->value);
  errors.gradient_Q->error += shift_ * plain->error;
  return errors;
}

void add_factored_gradients(std::span<ConcentrationRow> rows, const FactoredGradients& gradients,
                            const Execution& execution) {
  const auto bar = [](const std::optional<Estimate>& x) -> std::optional<ErrorBar> {
    if (!x) return std::nullopt;
    return ErrorBar{x->value, x->error, x->value - x->error, x->value + x->error};
  };
  for (ConcentrationRow& row : rows) {
    if (row.method != ErrorMethod::exact) continue;
    const FactoredErrors errors = gradients(row.L, row.sigma, execution);
    row.gradient_K = bar(errors.gradient_K);
    row.gradient_Q = bar(errors.gradient_Q);
  }
}

}  // namespace largo
