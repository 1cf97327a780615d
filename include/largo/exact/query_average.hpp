// How far attention over L i.i.d. Gaussian tokens is from its limit, averaged over queries: E_z of the errors
// of gaussian_error.hpp, for queries in the rows of a matrix, uniform on a sphere, or Gaussian.
//
// The errors at z are functions of s², a quadratic form in z, times at most three other quadratic forms (in
// the direction of the scores, and |z|²). Given s² the averages of such products are those of a Gaussian, so
// that one dimension suffices: an integral over s² against densities, each the inversion of a Laplace
// transform in closed form. Nothing is sampled, however rare the queries that decide are: for long prompts
// they lie far out, see averaged_exponent(). docs/moments.md derives this.
#pragma once

#include <memory>

#include "largo/numerics/estimate.hpp"
#include "largo/runtime/execution.hpp"
#include "largo/runtime/matrix.hpp"

namespace largo {

struct AveragedAttentionError {
  Estimate output;  ///< E_z E‖T[μ̂_L](z) − T[μ](z)‖²
  /// E_z ‖E T[μ̂_L](z) − T[μ](z)‖², the part of it that more prompts do not average out
  Estimate squared_bias;
  Estimate gradient_V;      ///< E_z E‖∇_V T[μ̂_L](z) − ∇_V T[μ](z)‖²
  Estimate gradient_U;      ///< E_z E‖∇_U T[μ̂_L](z) − ∇_U T[μ](z)‖²
  Estimate softmax_linear;  ///< E_z E‖T[μ̂_L](z) − T_lin[μ̂_L](z)‖², for tokens of mean zero
  Estimate limit;           ///< E_z ‖VΓUz‖², the size of what attention adds to V m
  double self_check = 0;    ///< E_z 1 - 1, computed like the rest: zero but for errors
};

/// The averages for one layer and one law of queries, at any length and for tokens scaled by any factor. What
/// depends on neither is computed once, so that a grid of lengths and scales costs little more than its
/// SoftmaxTables. Copies share it. Thread-safe.
class QueryAverage {
 public:
  /// Queries in the rows of a matrix, with weights (normalised here). Domain: as gaussian_attention_error.
  static QueryAverage over_rows(const ConstMatrixRef& token_covariance, const ConstMatrixRef& U,
                                const ConstMatrixRef& V, const ConstMatrixRef& queries,
                                const ConstVectorRef& weights);

  /// z ~ N(mean, covariance), the covariance symmetric positive semi-definite.
  static QueryAverage over_gaussian(const ConstMatrixRef& token_covariance, const ConstMatrixRef& U,
                                    const ConstMatrixRef& V, const ConstVectorRef& query_mean,
                                    const ConstMatrixRef& query_covariance);

  /// z uniform on the sphere of this radius, in as many dimensions as U has columns. The largest spread of
  /// the scores is to be at most 300. The first evaluation at a scale makes a rule: 50 ms for up to 8
  /// dimensions and spreads of order 1, 1 s for 30, 5 s for 100, and in proportion to the spread beyond 10.
  static QueryAverage over_sphere(const ConstMatrixRef& token_covariance, const ConstMatrixRef& U,
                                  const ConstMatrixRef& V, double radius);

  /// Tokens token_scale times those of the law. Domain: 1 <= L <= kLargestL or L = ∞, token_scale >= 0; s
  /// within the range of softmax_moments for all queries that matter, and a Gaussian mean at most 1e4
  /// deviations of the scores away from where they vanish. Otherwise InputError. Relative error 1e-10, with
  /// its estimate, which contains the self-check; more for a mean far outside a flat covariance (of condition
  /// 100 and more), whose densities have sharp fronts. Cost: a SoftmaxTable for L (10 to 100 ms where it is
  /// new) and 0.1 to 0.3 ms; the first time for Gaussian queries also some 15,000 products of r x r matrices,
  /// r the rank of their covariance: 50 ms for r = 5, 0.5 s for r = 30, with sharp fronts up to ten times.
  /// On one thread; throws Stopped when execution.stop is set.
  AveragedAttentionError operator()(double L, double token_scale = 1, const Execution& execution = {}) const;

 private:
  class Rule;
  explicit QueryAverage(std::shared_ptr<const Rule> rule);
  std::shared_ptr<const Rule> rule_;
};

/// QueryAverage::over_gaussian at one length.
AveragedAttentionError averaged_attention_error(const ConstMatrixRef& token_covariance,
                                                const ConstMatrixRef& U, const ConstMatrixRef& V,
                                                const ConstVectorRef& query_mean,
                                                const ConstMatrixRef& query_covariance, double L);

}  // namespace largo
