// Attention as an operator on measures, with its gradients.
//
//   softmax   T[μ](z)     = ∫ e^{<z',a>} V z' dμ / ∫ e^{<z',a>} dμ = V mean(ν_a),   a = scale · U z
//   linear    T_lin[μ](z) = V ∫ <z',a> z' dμ = V (cov μ + m mᵀ) a
//
// A law is an infinite prompt, and an EmpiricalMeasure is a finite one; the calls are the same. The gradients
// follow from the tilt: ∂T/∂U_ij = scale · V cov(ν_a) e_i z_j and ∂T_k/∂V_ij = δ_ki mean(ν_a)_j. For factored
// weights they follow from U = KᵀQ by the chain rule.
//
// Shapes: tokens in R^d, queries in R^e, outputs in R^o; U is d x e, V is o x d, K is r x d, Q is r x e.
// Queries and outputs are rows. The result for a query does not depend on the other queries of the call.
#pragma once

#include <vector>

#include "largo/attention/attention_kind.hpp"
#include "largo/attention/weights.hpp"
#include "largo/measures/measure.hpp"
#include "largo/runtime/execution.hpp"
#include "largo/runtime/matrix.hpp"

namespace largo {

/// Returns one output per row for one query per row. Cost: one tilt of first order per query; for a prompt of
/// L tokens, L (d + d) multiply-adds per query, and one pass over the tokens for every 64 queries.
RowMatrix attend(AttentionKind kind, const Measure& prompt, const MergedWeights& weights,
                 const ConstRowsRef& queries, const Execution& execution = {});
RowMatrix attend(AttentionKind kind, const Measure& prompt, const FactoredWeights& weights,
                 const ConstRowsRef& queries, const Execution& execution = {});

struct MergedGradient {
  Matrix U;
  Matrix V;
};

struct FactoredGradient {
  Matrix K;
  Matrix Q;
  Matrix V;
};

/// The vector-Jacobian product: the gradient of Σ_q <cotangent_q, T(z_q)>, with one cotangent per row
/// (n x o). For a prompt it costs only twice as much as attend(), because no d x d matrix is formed.
MergedGradient attention_vjp(AttentionKind kind, const Measure& prompt, const MergedWeights& weights,
                             const ConstRowsRef& queries, const ConstRowsRef& cotangents,
                             const Execution& execution = {});
FactoredGradient attention_vjp(AttentionKind kind, const Measure& prompt, const FactoredWeights& weights,
                               const ConstRowsRef& queries, const ConstRowsRef& cotangents,
                               const Execution& execution = {});

/// The full Jacobians of T at one query. Row k holds the derivatives of T_k, with the parameters in row-major
/// order (∂T_k/∂U_ij is at column i·e + j).
struct MergedJacobian {
  Matrix U;  ///< o x (d e)
  Matrix V;  ///< o x (o d)
};

struct FactoredJacobian {
  Matrix K;  ///< o x (r d)
  Matrix Q;  ///< o x (r e)
  Matrix V;  ///< o x (o d)
};

/// One Jacobian per query.
std::vector<MergedJacobian> attention_jacobian(AttentionKind kind, const Measure& prompt,
                                               const MergedWeights& weights, const ConstRowsRef& queries,
                                               const Execution& execution = {});
std::vector<FactoredJacobian> attention_jacobian(AttentionKind kind, const Measure& prompt,
                                                 const FactoredWeights& weights, const ConstRowsRef& queries,
                                                 const Execution& execution = {});

}  // namespace largo
