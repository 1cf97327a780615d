// The distance of attention over L tokens from its limit, without sampling, wherever a formula is known.
//
//   tokens \ queries          one, or a prompt of them        Gaussian, on a sphere
//   Gaussian                  all three errors                all three errors
//   with a known score law    all three errors (*)            -
//   beside planted tokens     output, gradient in V           -
//
// (Score laws are those of Measure::score_law.)  (*) The gradient in U is missing where the law of a token
// given its score is not known to fourth order, such as for products with two continuous coordinates that the
// score ignores, or where it has too many values (score_law_covariance_error). What is missing here can be
// sampled: concentration_grid.hpp.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "largo/concentration/attention_layer.hpp"
#include "largo/numerics/estimate.hpp"
#include "largo/runtime/execution.hpp"

namespace largo {

struct LayerErrors {
  Estimate output;      ///< E‖T[μ̂_L](z) − T[μ](z)‖², averaged over prompts and queries
  Estimate gradient_V;  ///< E‖∇_V T[μ̂_L](z) − ∇_V T[μ](z)‖²
  std::optional<Estimate> gradient_U;  ///< E‖∇_U T[μ̂_L](z) − ∇_U T[μ](z)‖²; empty where it is not known
  std::optional<Estimate> softmax_linear;  ///< E‖T[μ̂_L](z) − T_lin[μ̂_L](z)‖²; for centred Gaussian tokens
};

/// Says why the errors of this layer are not known exactly, for tokens `sigma` times those of its law.
/// Returns nothing if they are known.
std::optional<std::string> missing_formula(const AttentionLayer& layer, double sigma = 1);

class ExactErrors {
 public:
  /// Throws InputError if the formula for this layer is missing at every sigma.
  explicit ExactErrors(const AttentionLayer& layer);
  ~ExactErrors();

  /// The errors for tokens that are `sigma` times those of the law. Domain: 1 <= L <= 1e300 or L = ∞ (then
  /// zeros); sigma 0 or between 1e-50 and 1e50; spreads of the scores within the limits of query_average.hpp
  /// and score_law_error.hpp; otherwise InputError. Error: 1e-10 relative, with its estimate. Cost: as in
  /// those two headers; for a score law, twice the output error for each query, and the gradient in U.
  /// Thread-safe. Throws Stopped.
  LayerErrors operator()(double L, double sigma = 1, const Execution& execution = {}) const;

 private:
  class Formula;
  class GaussianTokens;
  class ScoreLawTokens;
  std::unique_ptr<Formula> formula_;
};

}  // namespace largo
