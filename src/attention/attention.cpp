#include "largo/attention/attention.hpp"

#include <fmt/format.h>

#include "attention/response.hpp"
#include "largo/runtime/check.hpp"

namespace largo {

MergedWeights FactoredWeights::merged() const {
  check_shape("attention", "Q", Q.rows(), Q.cols(), K.rows(), Q.cols());
  check_finite("attention", "K", K);
  check_finite("attention", "Q", Q);
  return {K.transpose() * Q, V, scale};
}

RowMatrix attend(AttentionKind kind, const Measure& prompt, const MergedWeights& weights,
                 const ConstRowsRef& queries, const Execution& execution) {
  const PromptOfCall call(prompt, execution);
  const Matrix responses = mean_responses(kind, *call, score_directions(prompt, weights, queries), execution);
  RowMatrix outputs(queries.rows(), weights.V.rows());
  for (std::ptrdiff_t q = 0; q < queries.rows(); ++q) {
    outputs.row(q) = (weights.V * responses.col(q)).transpose();
  }
  check_result(outputs.transpose());
  return outputs;
}

RowMatrix attend(AttentionKind kind, const Measure& prompt, const FactoredWeights& weights,
                 const ConstRowsRef& queries, const Execution& execution) {
  return attend(kind, prompt, merge_for(prompt, weights, queries), queries, execution);
}

}  // namespace largo
