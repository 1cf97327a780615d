// The distance of attention over L i.i.d. Gaussian tokens from its limit, averaged over queries: E_z of the
// errors of gaussian_error.hpp. Queries are the rows of a matrix, uniform on a sphere, or Gaussian.
//
// The errors at z are functions of s², a quadratic form in z, times at most three other quadratic forms (in
// the direction of the scores, and |z|²). Given s², the averages of such products are those of a Gaussian. So
// one dimension is enough: an integral over s² against densities, each the inverse of a Laplace transform in
// closed form. Nothing is sampled, so the result is right even if rare queries decide; for long prompts these
// lie far out, see averaged_exponent(). docs/moments.md derives this.
#pragma once

#include <memory>

#include "largo/numerics/estimate.hpp"
#include "largo/runtime/execution.hpp"
#include "largo/runtime/matrix.hpp"

namespace largo {

struct AveragedAttentionError {
  Estimate output;  ///< E_z E‖T[μ̂_L](z) − T[μ](z)‖²
  /// E_z ‖E T[μ̂_L](z) − T[μ](z)‖², the part of the output error that more prompts do not average out
  Estimate squared_bias;
  Estimate gradient_V;      ///< E_z E‖∇_V T[μ̂_L](z) − ∇_V T[μ](z)‖²
  Estimate gradient_U;      ///< E_z E‖∇_U T[μ̂_L](z) − ∇_U T[μ](z)‖²
  Estimate softmax_linear;  ///< E_z E‖T[μ̂_L](z) − T_lin[μ̂_L](z)‖², for tokens of mean zero
  Estimate limit;           ///< E_z ‖VΓUz‖², the mean square of what attention adds to V m
  double self_check = 0;    ///< E_z 1 - 1, computed like the rest: zero except for errors
};

/// Upper bounds on the averaged errors that are theorems (docs/bounds.md), up to the error of the average
/// over the queries, which is added. `P2` and `P2_square` are those of E_z P(z) and E_z |z|² P(z), P the
/// bound on E[P_2] at a query: bounds for other laws come down to these.
struct AveragedBounds {
  double output = 0, gradient_V = 0, gradient_U = 0;
  double P2 = 0, P2_square = 0;
};

/// The averages for one layer and one law of queries, at any length and for tokens scaled by any factor. What
/// depends on neither is computed once, so a grid of lengths and scales costs little more than its
/// SoftmaxTables. Copies share these results. Thread-safe.
class QueryAverage {
 public:
  /// Queries are the rows of a matrix, with weights (normalised here). Domain: as gaussian_attention_error.
  static QueryAverage over_rows(const ConstMatrixRef& token_covariance, const ConstMatrixRef& U,
                                const ConstMatrixRef& V, const ConstMatrixRef& queries,
                                const ConstVectorRef& weights);

  /// z ~ N(mean, covariance) with a symmetric positive semi-definite covariance.
  static QueryAverage over_gaussian(const ConstMatrixRef& token_covariance, const ConstMatrixRef& U,
                                    const ConstMatrixRef& V, const ConstVectorRef& query_mean,
                                    const ConstMatrixRef& query_covariance);

  /// z is uniform on the sphere of this radius, in as many dimensions as U has columns. The largest spread of
  /// the scores must be at most 300. The first evaluation at a scale makes a rule: it takes 50 ms for up to 8
  /// dimensions and spreads of order 1, 1 s for 30 dimensions, 5 s for 100, and grows in proportion to the
  /// spread beyond 10.
  static QueryAverage over_sphere(const ConstMatrixRef& token_covariance, const ConstMatrixRef& U,
                                  const ConstMatrixRef& V, double radius);

  /// The averages for tokens that are token_scale times those of the law. Domain: 1 <= L <= kLargestL or
  /// L = ∞, token_scale >= 0; s within the range of softmax_moments for all queries that matter; a Gaussian
  /// mean at most 1e4 deviations of the scores away from where they vanish. Otherwise InputError. Relative
  /// error 1e-10, with its estimate, which includes the self-check; more for a mean far outside a flat
  /// covariance (condition 100 or more), whose densities have sharp fronts. Cost: a SoftmaxTable for L (10 to
  /// 100 ms if it is new) and 0.1 to 0.3 ms. The first time, Gaussian queries also take about 15,000 products
  /// of r x r matrices, r the rank of their covariance: 50 ms for r = 5, 0.5 s for r = 30, with sharp fronts
  /// up to ten times as long. Runs on one thread; throws Stopped when execution.stop is set.
  AveragedAttentionError operator()(double L, double token_scale = 1, const Execution& execution = {}) const;

  /// Bounds on these averages, with the same domain. Cost: no table, but some 10,000 nodes for Gaussian
  /// queries, 20 ms; the first time more nodes than for the averages.
  AveragedBounds bounds(double L, double token_scale = 1, const Execution& execution = {}) const;

 private:
  class Rule;
  explicit QueryAverage(std::shared_ptr<const Rule> rule);
  std::shared_ptr<const Rule> rule_;
};

/// The result of QueryAverage::over_gaussian at one length.
AveragedAttentionError averaged_attention_error(const ConstMatrixRef& token_covariance,
                                                const ConstMatrixRef& U, const ConstMatrixRef& V,
                                                const ConstVectorRef& query_mean,
                                                const ConstMatrixRef& query_covariance, double L);

}  // namespace largo
