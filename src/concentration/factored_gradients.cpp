#include "largo/concentration/factored_gradients.hpp"

#include <algorithm>
#include <cmath>

#include "largo/measures/affine.hpp"
#include "largo/measures/empirical.hpp"
#include "largo/measures/gaussian.hpp"
#include "largo/runtime/check.hpp"
#include "numerics/factor.hpp"

namespace largo {
namespace {

constexpr const char* kFactoredGradients = "gradients in K and Q";
constexpr double kRounded = 1 + 1e-12;  // of a product of positive numbers
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

AttentionLayer merged_layer(const MeasurePtr& tokens, const FactoredWeights& weights,
                            const Queries& queries) {
  if (weights.score_scale != 1)
    fail(kFactoredGradients, "score_scale", weights.score_scale, "1: put it into K or Q");
  const MergedWeights merged = weights.merged();
  return {tokens, merged.U, merged.V, queries};
}

// The layer whose gradient in U is that in K: U = Kᵀ, at queries Qz.
AttentionLayer layer_of_keys(const MeasurePtr& tokens, const FactoredWeights& weights,
                             const Queries& queries) {
  return {tokens, weights.K.transpose(), weights.V, image_of(weights.Q, queries)};
}

// The layer of tokens Mz', M² = KᵀK + shift I.
struct QueryLayer {
  AttentionLayer layer;
  double shift = 0;
};

// None if K is zero.
std::optional<QueryLayer> layer_of_queries(const AttentionLayer& plain, const Matrix& K) {
  if (K.isZero(0)) return std::nullopt;
  const Matrix gram = K.transpose() * K;
  if (!gram.allFinite() || !(gram.trace() > 0)) {
    fail(kFactoredGradients, "largest entry of K", K.cwiseAbs().maxCoeff(),
         "such that its square is a number: scale K");
  }
  const Eigen::SelfAdjointEigenSolver<Matrix> eigen(gram);
  const double largest = eigen.eigenvalues().maxCoeff();
  const bool is_well_conditioned = eigen.eigenvalues().minCoeff() >= kWellConditioned * largest;
  const double shift = is_well_conditioned ? 0 : kWellConditioned * largest;
  const Vector roots = (eigen.eigenvalues().array().max(0.0) + shift).sqrt();
  const auto with = [&](const Vector& values) {
    return Matrix(eigen.eigenvectors() * values.asDiagonal() * eigen.eigenvectors().transpose());
  };
  const Matrix inverse = with(roots.cwiseInverse());
  return QueryLayer{
      {image_of(with(roots), plain.tokens), inverse * plain.U, plain.V * inverse, plain.queries}, shift};
}

}  // namespace

FactoredGradients::FactoredGradients(const MeasurePtr& tokens, const FactoredWeights& weights,
                                     const Queries& queries) {
  const AttentionLayer layer = merged_layer(tokens, weights, queries);
  plain_ = std::make_shared<const ExactErrors>(layer);
  keys_ = errors_of(layer_of_keys(tokens, weights, queries));
  const auto image = layer_of_queries(layer, weights.K);
  is_zero_ = !image;
  if (is_zero_) return;
  shift_ = image->shift;
  queries_ = errors_of(image->layer);
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

FactoredBounds::FactoredBounds(const MeasurePtr& tokens, const FactoredWeights& weights,
                               const Queries& queries) {
  const AttentionLayer layer = merged_layer(tokens, weights, queries);
  if (const auto missing = missing_bound(layer)) fail(kFactoredGradients, *missing);
  const auto square = [](const Matrix& A) { return kRounded * std::pow(numerics::operator_norm(A), 2); };
  keys_square_ = square(weights.K);
  queries_square_ = square(weights.Q);
  if (!has_gaussian_tokens(layer) && finite_queries(queries).rows.rows() == 0) return;
  const auto bounds_of = [](const AttentionLayer& image) -> std::shared_ptr<const CertifiedBounds> {
    if (missing_bound(image)) return nullptr;
    return std::make_shared<const CertifiedBounds>(image);
  };
  keys_ = bounds_of(layer_of_keys(tokens, weights, queries));
  if (const auto image = layer_of_queries(layer, weights.K)) queries_ = bounds_of(image->layer);
}

FactoredBounds::Values FactoredBounds::operator()(double L, double plain, double sigma,
                                                  const Execution& execution) const {
  const auto least = [&](double square, const std::shared_ptr<const CertifiedBounds>& layer) {
    if (square == 0) return 0.0;
    const double product = kRounded * square * plain;
    return layer ? std::min(product, (*layer)(L, sigma, execution).gradient_U) : product;
  };
  return {least(queries_square_, keys_), least(keys_square_, queries_)};
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

void add_factored_bounds(std::span<ConcentrationRow> rows, const FactoredBounds& bounds,
                         const Execution& execution) {
  for (ConcentrationRow& row : rows) {
    if (!row.certified) continue;
    const auto [K, Q] = bounds(row.L, row.certified->gradient_U, row.sigma, execution);
    row.certified->gradient_K = K;
    row.certified->gradient_Q = Q;
  }
}

}  // namespace largo
