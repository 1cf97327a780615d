#include "attention/response.hpp"

#include <utility>

#include <fmt/format.h>

#include "largo/runtime/check.hpp"

namespace largo::attention {
namespace {

// Up to this dimension linear attention forms the d x d second moment M; beyond it, only products M h. The
// number of queries must not enter the choice: the two differ in their last bits.
constexpr std::ptrdiff_t kDenseDimension = 32;

// Mean and covariance of the law itself, on the threads of the call.
Tilt untilted(const Measure& prompt, TiltOrder order, const Execution& execution) {
  return std::move(prompt.tilts(Matrix::Zero(prompt.dimension(), 1), order, execution).front());
}

// M h for each column h.
Matrix second_moment_products(const Measure& prompt, const ConstMatrixRef& vectors,
                              const Execution& execution) {
  const bool dense = prompt.dimension() <= kDenseDimension;
  const auto [log_partition, mean, covariance] =
      untilted(prompt, dense ? TiltOrder::covariance : TiltOrder::mean, execution);
  Matrix products;
  if (!dense) {
    const Matrix zero = Matrix::Zero(vectors.rows(), vectors.cols());
    products = prompt.tilted_covariance_products(zero, vectors, execution);
  } else {
    products.resize(vectors.rows(), vectors.cols());
    for (std::ptrdiff_t q = 0; q < vectors.cols(); ++q) products.col(q) = covariance * vectors.col(q);
  }
  for (std::ptrdiff_t q = 0; q < vectors.cols(); ++q) products.col(q) += mean * mean.dot(vectors.col(q));
  return products;
}

// If the matrix fits the prompt, the message blames the query and not the matrix.
void check_query_size(const ConstRowsRef& queries, std::ptrdiff_t columns, const char* matrix) {
  if (queries.cols() == columns) return;
  fail("attention", "size of a query", static_cast<double>(queries.cols()),
       fmt::format("{}, the number of columns of {}", columns, matrix));
}

}  // namespace

PromptOfCall::PromptOfCall(const Measure& prompt, const Execution& execution) : given_(prompt) {
  if (execution.device == nullptr) return;
  const auto* tokens = dynamic_cast<const EmpiricalMeasure*>(&prompt);
  if (tokens != nullptr) kept_ = tokens->kept_on(*execution.device);
}

Matrix score_directions(const Measure& prompt, const MergedWeights& weights, const ConstRowsRef& queries) {
  if (queries.rows() < 1) fail("attention", "number of queries", "0", "at least 1");
  check_shape("attention", "U", weights.U.rows(), weights.U.cols(), prompt.dimension(), weights.U.cols());
  check_query_size(queries, weights.U.cols(), "U");
  check_shape("attention", "V", weights.V.rows(), weights.V.cols(), weights.V.rows(), prompt.dimension());
  check_finite("attention", "U", weights.U);
  check_finite("attention", "V", weights.V);
  check_finite("attention", "queries", Matrix(queries));
  check_finite("attention", "score_scale", weights.score_scale);
  Matrix directions(prompt.dimension(), queries.rows());
  for (std::ptrdiff_t q = 0; q < queries.rows(); ++q) {
    directions.col(q) = weights.score_scale * (weights.U * queries.row(q).transpose());
  }
  check_finite("attention", "score_scale * U * query", directions);
  return directions;
}

MergedWeights merge_for(const Measure& prompt, const FactoredWeights& weights, const ConstRowsRef& queries) {
  const Matrix& K = weights.K;
  check_shape("attention", "K", K.rows(), K.cols(), K.rows(), prompt.dimension());
  check_shape("attention", "Q", weights.Q.rows(), weights.Q.cols(), K.rows(), weights.Q.cols());
  check_query_size(queries, weights.Q.cols(), "Q");
  return weights.merged();
}

void check_result(const ConstMatrixRef& result) {
  if (!result.allFinite())
    fail("attention", "a result overflows float64: scale down the weights or the tokens");
}

Matrix mean_responses(AttentionKind kind, const Measure& prompt, const ConstMatrixRef& directions,
                      const Execution& execution) {
  if (kind == AttentionKind::linear) return second_moment_products(prompt, directions, execution);
  const std::vector<Tilt> tilts = prompt.tilts(directions, TiltOrder::mean, execution);
  Matrix means(directions.rows(), directions.cols());
  for (std::ptrdiff_t q = 0; q < means.cols(); ++q) means.col(q) = tilts[static_cast<std::size_t>(q)].mean;
  return means;
}

Matrix derivative_products(AttentionKind kind, const Measure& prompt, const ConstMatrixRef& directions,
                           const ConstMatrixRef& vectors, const Execution& execution) {
  if (kind == AttentionKind::linear) return second_moment_products(prompt, vectors, execution);
  return prompt.tilted_covariance_products(directions, vectors, execution);
}

std::vector<Response> responses(AttentionKind kind, const Measure& prompt, const ConstMatrixRef& directions,
                                const Execution& execution) {
  std::vector<Response> results;
  if (kind == AttentionKind::softmax) {
    for (Tilt& tilt : prompt.tilts(directions, TiltOrder::covariance, execution)) {
      results.push_back({std::move(tilt.mean), std::move(tilt.covariance)});
    }
  } else {
    const Tilt law = untilted(prompt, TiltOrder::covariance, execution);
    const Matrix moment = law.covariance + law.mean * law.mean.transpose();
    for (std::ptrdiff_t q = 0; q < directions.cols(); ++q) {
      results.push_back({moment * directions.col(q), moment});
    }
  }
  return results;
}

}  // namespace largo::attention
