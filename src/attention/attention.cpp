#include "largo/attention/attention.hpp"

#include <fmt/format.h>

#include "attention/response.hpp"
#include "largo/runtime/check.hpp"

namespace largo {
MergedWeights FactoredWeights::merged() const {
  check_shape("attention", "Q", Q.rows(), Q.cols(), K.rows(), Q.cols());
  check_finite("attention", "K", K);
  check_finite("attention", "Q", Q);
  return {K.transpose() * Q, V, score_scale};
}

RowMatrix attend(AttentionKind kind, const Measure& prompt, const MergedWeights& weights,
                 const ConstRowsRef& queries, const Execution& execution) {
  const attention::PromptOfCall call(prompt, execution);
  const Matrix responses = attention::mean_responses(
      kind, *call, attention::score_directions(prompt, weights, queries), execution);
  RowMatrix outputs(queries.rows(), weights.V.rows());
  for (std::ptrdiff_t q = 0; q < queries.rows(); ++q) {
    outputs.row(q) = (weights.V * responses.col(q)).transpose();
  }
  attention::check_result(outputs.transpose());
  return outputs;
}

RowMatrix attend(AttentionKind kind, const Measure& prompt, const FactoredWeights& weights,
                 const ConstRowsRef& queries, const Execution& execution) {
  return attend(kind, prompt, attention::merge_for(prompt, weights, queries), queries, execution);
}

// Gradients of attention. With r(a) and D(a) of response.hpp and a = scale · U z:
//   ∂T/∂U_ij = scale · V D e_i z_j,    ∂T_k/∂V_ij = δ_ki r_j,
// and U = KᵀQ sends a gradient G in U to Q Gᵀ in K and K G in Q.

namespace {

MergedJacobian jacobian_at(const attention::Response& response, const MergedWeights& weights,
                           const Vector& query) {
  const std::ptrdiff_t outputs = weights.V.rows();
  const std::ptrdiff_t d = weights.V.cols();
  const std::ptrdiff_t e = query.size();
  const Matrix sensitivity = weights.score_scale * (weights.V * response.derivative);  // ∂T/∂(U z)
  MergedJacobian jacobian{Matrix(outputs, d * e), Matrix::Zero(outputs, outputs * d)};
  for (std::ptrdiff_t k = 0; k < outputs; ++k) {
    for (std::ptrdiff_t i = 0; i < d; ++i) {
      jacobian.U.row(k).segment(i * e, e) = sensitivity(k, i) * query.transpose();
    }
    jacobian.V.row(k).segment(k * d, d) = response.value.transpose();
  }
  attention::check_result(jacobian.U);
  attention::check_result(jacobian.V);
  return jacobian;
}

FactoredJacobian chain_rule(const MergedJacobian& merged, const FactoredWeights& weights) {
  const std::ptrdiff_t outputs = merged.U.rows();
  const std::ptrdiff_t d = weights.K.cols();
  const std::ptrdiff_t e = weights.Q.cols();
  FactoredJacobian jacobian{Matrix(outputs, weights.K.size()), Matrix(outputs, weights.Q.size()), merged.V};
  for (std::ptrdiff_t k = 0; k < outputs; ++k) {
    const RowMatrix row = merged.U.row(k);
    const Eigen::Map<const RowMatrix> gradient_u(row.data(), d, e);
    RowMatrix gradient_k = weights.Q * gradient_u.transpose();
    RowMatrix gradient_q = weights.K * gradient_u;
    jacobian.K.row(k) = Eigen::Map<Eigen::RowVectorXd>(gradient_k.data(), gradient_k.size());
    jacobian.Q.row(k) = Eigen::Map<Eigen::RowVectorXd>(gradient_q.data(), gradient_q.size());
  }
  attention::check_result(jacobian.K);
  attention::check_result(jacobian.Q);
  return jacobian;
}

}  // namespace

MergedGradient attention_vjp(AttentionKind kind, const Measure& prompt, const MergedWeights& weights,
                             const ConstRowsRef& queries, const ConstRowsRef& cotangents,
                             const Execution& execution) {
  const Matrix directions = attention::score_directions(prompt, weights, queries);
  check_shape("attention_vjp", "cotangents", cotangents.rows(), cotangents.cols(), queries.rows(),
              weights.V.rows());
  check_finite("attention_vjp", "cotangents", Matrix(cotangents));
  const attention::PromptOfCall call(prompt, execution);
  const Matrix means = attention::mean_responses(kind, *call, directions, execution);
  const Matrix pulled = weights.V.transpose() * cotangents.transpose();
  const Matrix products = attention::derivative_products(kind, *call, directions, pulled, execution);
  MergedGradient gradient{weights.score_scale * (products * queries),
                          cotangents.transpose() * means.transpose()};
  attention::check_result(gradient.U);
  attention::check_result(gradient.V);
  return gradient;
}

FactoredGradient attention_vjp(AttentionKind kind, const Measure& prompt, const FactoredWeights& weights,
                               const ConstRowsRef& queries, const ConstRowsRef& cotangents,
                               const Execution& execution) {
  const MergedGradient merged = attention_vjp(kind, prompt, attention::merge_for(prompt, weights, queries),
                                              queries, cotangents, execution);
  FactoredGradient gradient{weights.Q * merged.U.transpose(), weights.K * merged.U, merged.V};
  attention::check_result(gradient.K);
  attention::check_result(gradient.Q);
  return gradient;
}

std::vector<MergedJacobian> attention_jacobian(AttentionKind kind, const Measure& prompt,
                                               const MergedWeights& weights, const ConstRowsRef& queries,
                                               const Execution& execution) {
  const std::vector<attention::Response> all =
      attention::responses(kind, prompt, attention::score_directions(prompt, weights, queries), execution);
  std::vector<MergedJacobian> jacobians;
  for (std::size_t q = 0; q < all.size(); ++q) {
    jacobians.push_back(
        jacobian_at(all[q], weights, queries.row(static_cast<std::ptrdiff_t>(q)).transpose()));
  }
  return jacobians;
}

std::vector<FactoredJacobian> attention_jacobian(AttentionKind kind, const Measure& prompt,
                                                 const FactoredWeights& weights, const ConstRowsRef& queries,
                                                 const Execution& execution) {
  std::vector<FactoredJacobian> jacobians;
  const MergedWeights merged = attention::merge_for(prompt, weights, queries);
  for (const MergedJacobian& jacobian : attention_jacobian(kind, prompt, merged, queries, execution)) {
    jacobians.push_back(chain_rule(jacobian, weights));
  }
  return jacobians;
}

}  // namespace largo
