// The exact distance of attention over L i.i.d. Gaussian tokens from its limit, at a fixed query.
//
// The tokens are N(m, Γ), the query is z, and a = Uz, s² = aᵀΓa. The statistics are those of
// softmax_moments(s, L). With p = E[P_2], p3 = E[P_3], q = E[P_2²]:
//
//   E‖T[μ̂_L](z) − T[μ](z)‖² = p tr(VΓVᵀ) + ‖VΓa‖² (p − 6 p3 + 6 q)          output
//   E T[μ̂_L](z) − T[μ](z)   = −p VΓa                                          bias
//   E‖∇_V T[μ̂_L] − ∇_V T[μ]‖² = rows(V) · (the output error with V = I)        gradient in V
//   E‖∇_U T[μ̂_L] − ∇_U T[μ]‖² = ‖z‖² E‖V (C_p − Γ)‖²                           gradient in U
//
// in the Frobenius norm of the whole Jacobian, where C_p is the weighted covariance of the tokens. The mean m
// shifts all outputs by the same amount and does not matter. docs/moments.md derives these formulas.
#pragma once

#include "largo/numerics/estimate.hpp"
#include "largo/runtime/matrix.hpp"

namespace largo {

struct AttentionError {
  double s = 0;         ///< spread of the scores at this query
  Estimate output;      ///< E‖T[μ̂_L](z) − T[μ](z)‖²
  Vector bias;          ///< E T[μ̂_L](z) − T[μ](z)
  Estimate gradient_V;  ///< E‖∇_V T[μ̂_L](z) − ∇_V T[μ](z)‖²
  Estimate gradient_U;  ///< E‖∇_U T[μ̂_L](z) − ∇_U T[μ](z)‖²
};

/// Domain: a symmetric positive semi-definite d x d covariance, U with d rows and as many columns as the
/// query has entries, V with d columns, 1 <= L <= kLargestL or L = ∞ (all errors zero); s within the range of
/// softmax_moments. Otherwise InputError. Relative error: 1e-10. Cost: softmax_moments and O(d³).
AttentionError gaussian_attention_error(const ConstMatrixRef& token_covariance, const ConstMatrixRef& U,
                                        const ConstMatrixRef& V, const ConstVectorRef& query, double L);

}  // namespace largo
