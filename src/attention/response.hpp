// What softmax and linear attention have in common: to a direction a both answer with a vector r(a), so that
// T = V r(a), and with its symmetric derivative D(a) = ∂r/∂a.
//   softmax   r = mean(ν_a)          D = cov(ν_a)
//   linear    r = M a                D = M = cov μ + m mᵀ
#pragma once

#include <optional>
#include <vector>

#include "largo/attention/attention_kind.hpp"
#include "largo/attention/weights.hpp"
#include "largo/measures/empirical.hpp"

namespace largo::attention {

/// The prompt of a call, which may take several passes over it. A device keeps it until the call ends.
class PromptOfCall {
 public:
  PromptOfCall(const Measure& prompt, const Execution& execution);
  PromptOfCall(const PromptOfCall&) = delete;
  PromptOfCall& operator=(const PromptOfCall&) = delete;
  const Measure& operator*() const { return kept_ ? *kept_ : given_; }

 private:
  const Measure& given_;
  std::optional<EmpiricalMeasure> kept_;
};

/// Column q is scale · U z_q. Checks every shape, and that weights and queries are finite.
Matrix score_directions(const Measure& prompt, const MergedWeights& weights, const ConstRowsRef& queries);

/// U = KᵀQ, after checking that K fits the tokens and Q the queries.
MergedWeights merge_for(const Measure& prompt, const FactoredWeights& weights, const ConstRowsRef& queries);

/// Throws InputError unless every entry of a result is finite: its factors were, but a product may overflow.
void check_result(const ConstMatrixRef& result);

/// Column q is r(a_q).
Matrix mean_responses(AttentionKind kind, const Measure& prompt, const ConstMatrixRef& directions,
                      const Execution& execution);

/// Column q is D(a_q) h_q.
Matrix derivative_products(AttentionKind kind, const Measure& prompt, const ConstMatrixRef& directions,
                           const ConstMatrixRef& vectors, const Execution& execution);

struct Response {
  Vector value;       ///< r(a)
  Matrix derivative;  ///< D(a), d x d
};

std::vector<Response> responses(AttentionKind kind, const Measure& prompt, const ConstMatrixRef& directions,
                                const Execution& execution);

}  // namespace largo::attention
