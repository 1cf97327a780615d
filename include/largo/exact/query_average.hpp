// How far attention over L i.i.d. Gaussian tokens is from its limit, averaged over Gaussian queries:
// E_z of the errors of gaussian_error.hpp, z ~ N(query mean, query covariance).
//
// The errors at z are functions of s², a quadratic form in z, times at most three other quadratic forms (in
// the direction of the scores, and |z|²). Given s² the averages of such products are those of a Gaussian, so
// that one dimension suffices: an integral over s² against densities, each the inversion of a Laplace
// transform in closed form. Nothing is sampled, however rare the queries that decide are: for long prompts
// they lie far out, see averaged_exponent(). docs/moments.md derives this.
#pragma once

#include "largo/numerics/estimate.hpp"
#include "largo/numerics/matrix.hpp"

namespace largo {

struct AveragedAttentionError {
  Estimate output;  ///< E_z E‖T[μ̂_L](z) − T[μ](z)‖²
  Estimate
      squared_bias;  ///< E_z ‖E T[μ̂_L](z) − T[μ](z)‖², the part of it that more prompts do not average out
  Estimate gradient_V;    ///< E_z E‖∇_V T[μ̂_L](z) − ∇_V T[μ](z)‖²
  Estimate gradient_U;    ///< E_z E‖∇_U T[μ̂_L](z) − ∇_U T[μ](z)‖²
  double self_check = 0;  ///< E_z 1 - 1, computed like the rest: zero but for errors
};

/// Domain: as gaussian_attention_error, with a mean and a symmetric positive semi-definite covariance of the
/// queries; s within the range of softmax_moments for all queries that matter, and the mean
/// at most 1e4 deviations of the scores away from where they vanish. Otherwise InputError. Relative
/// error 1e-10, with its estimate, which contains the self-check; more for a mean far outside a flat
/// covariance (of condition 100 and more), whose densities have sharp fronts. Cost: a SoftmaxTable for L (10
/// to 100 ms where it is new), and some 15,000 products of r x r matrices, r the rank of the query
/// covariance: 50 ms for r = 5, 0.5 s for r = 30; with sharp fronts up to ten times as much.
AveragedAttentionError averaged_attention_error(const ConstMatrixRef& token_covariance,
                                                const ConstMatrixRef& U, const ConstMatrixRef& V,
                                                const ConstVectorRef& query_mean,
                                                const ConstMatrixRef& query_covariance, double L);

}  // namespace largo
