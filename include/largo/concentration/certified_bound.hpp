// Bounds on the distance of attention over L tokens from its limit that are theorems with their constants:
// nothing is fitted and nothing is sampled. docs/bounds.md has the statements and the proofs.
//
// At a query with a = Uz let w = e^{<a, z'>}/E e^{<a, z'>}, ρ = E w² and x = V(z' − mean(ν_a)). Then for
// every law, every L and every δ in (0, 1)
//
//   E‖T[μ̂_L](z) − T[μ](z)‖² <= (1 − δ)⁻² (ρ/L) E_{ν_2a}‖x‖² + (rare prompts),
//
// where the last term is R² e^{-δ²L/2ρ} if ‖x‖ <= R, and √(L E‖x‖⁴) e^{-δ²L/4ρ} otherwise. The gradients have
// similar bounds.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "largo/concentration/attention_layer.hpp"
#include "largo/runtime/execution.hpp"

namespace largo {

/// Upper bounds on the errors of LayerErrors, averaged over the queries.
struct CertifiedErrors {
  double output = 0;
  double gradient_V = 0;
  double gradient_U = 0;
  std::optional<double> gradient_K = {}, gradient_Q = {};  ///< set by add_factored_bounds
};

/// The bounds of one layer at any length and for tokens scaled by any factor. Thread-safe.
///
///   tokens \ queries        one, or a prompt of them     Gaussian, on a sphere      bounded
///   Gaussian                yes                          yes                        -
///   bounded                 yes                          yes, cruder                yes, cruder
///   any other               yes                          -                          -
///
/// "Cruder" bounds know only the support and the sub-Gaussian constant of the tokens, and need one that is
/// proved. A law of your own whose tilts are differences has bounds up to the error of these. Where terms
/// cancel, rounding is allowed for one by one; elsewhere by a factor of 1 + 1e-12.
class CertifiedBounds {
 public:
  /// InputError unless bounds are known; missing_bound() says why not.
  explicit CertifiedBounds(const AttentionLayer& layer);
  ~CertifiedBounds();
  CertifiedBounds(CertifiedBounds&&) noexcept;
  CertifiedBounds& operator=(CertifiedBounds&&) noexcept;

  /// Domain: 1 <= L <= 1e300 or L = ∞ (the errors are then zero), sigma > 0 as in ExactErrors. A bound that
  /// is larger than any double is infinite. Cost at one query: some 50 (d + rows of V) values of Λ for each
  /// new sigma, and microseconds for each L; over Gaussian queries as QueryAverage::bounds.
  CertifiedErrors operator()(double L, double sigma = 1, const Execution& execution = {}) const;

 private:
  class Rule;
  class GaussianTokens;
  class AtQueries;
  class BoundedTokens;
  std::unique_ptr<const Rule> rule_;
};

/// Why there are no bounds for this layer; none if there are.
std::optional<std::string> missing_bound(const AttentionLayer& layer);

}  // namespace largo
