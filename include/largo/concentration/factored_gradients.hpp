// The errors of the gradients in K and Q, for layers whose scores are <Kz', Qz>, that is U = KᵀQ.
//
// By the chain rule ∂T/∂K_ai = V C e_i (Qz)_a and ∂T/∂Q_aj = V C Kᵀe_a z_j, with C the covariance of the
// tokens under the softmax weights. So with C_p that of the prompt and C that of the limit,
//
//   gradient_K   E‖Qz‖² ‖V(C_p − C)‖²        gradient_Q   E‖z‖² ‖V(C_p − C)Kᵀ‖².
//
// The first is the error of the gradient in U of the layer with U = Kᵀ and queries Qz. For the second let
// M² = KᵀK + cI, c >= 0: ‖V(C_p − C)M‖² is that of the layer with tokens Mz', values V M⁻¹ and scores M⁻¹U,
// so gradient_Q is the difference of two errors of gradients in U. c = 0 where KᵀK is well conditioned.
#pragma once

#include <memory>
#include <optional>
#include <span>

#include "largo/attention/weights.hpp"
#include "largo/concentration/concentration_plan.hpp"
#include "largo/concentration/exact_errors.hpp"

namespace largo {

struct FactoredErrors {
  std::optional<Estimate> gradient_K;  ///< E‖∇_K T[μ̂_L](z) − ∇_K T[μ](z)‖²; empty where it has no formula
  std::optional<Estimate> gradient_Q;  ///< E‖∇_Q T[μ̂_L](z) − ∇_Q T[μ](z)‖²
};

class FactoredGradients {
 public:
  /// Domain: tokens and queries as in ExactErrors, shapes as in FactoredWeights with score_scale 1;
  /// InputError otherwise. The gradient in K has no formula for queries on a sphere, because Qz is not on
  /// one.
  FactoredGradients(const MeasurePtr& tokens, const FactoredWeights& weights, const Queries& queries);

  /// Domain, errors and cost: three times those of ExactErrors. What the difference loses is part of `error`.
  FactoredErrors operator()(double L, double sigma = 1, const Execution& execution = {}) const;

 private:
  std::shared_ptr<const ExactErrors> plain_, keys_, queries_;  // keys_: for the gradient in K
  double shift_ = 0;                                           // c
  bool is_zero_ = false;                                       // K is zero, and with it the gradient in Q
};

/// Certified bounds on the same two errors, from those on gradients in U (docs/bounds.md): of the two layers
/// above, and ‖Q‖² and ‖K‖² times that of the layer itself; the smaller of the two where both are known. For
/// tokens that are not Gaussian, under a law of queries, the latter alone, since the former takes a second.
class FactoredBounds {
 public:
  /// Domain: layers with certified bounds (missing_bound()), shapes as in FactoredWeights with score_scale 1;
  /// InputError otherwise.
  FactoredBounds(const MeasurePtr& tokens, const FactoredWeights& weights, const Queries& queries);

  struct Values {
    double gradient_K = 0, gradient_Q = 0;
  };
  /// Domain and cost: as CertifiedBounds, up to three times. `plain` is the bound on the gradient in U of the
  /// layer itself at the same L and sigma.
  Values operator()(double L, double plain, double sigma = 1, const Execution& execution = {}) const;

 private:
  std::shared_ptr<const CertifiedBounds> keys_, queries_;  // those of the two layers, where known
  double keys_square_ = 0, queries_square_ = 0;            // ‖K‖² and ‖Q‖², rounded up
};

/// Sets gradient_K and gradient_Q of the exact rows of a grid.
void add_factored_gradients(std::span<ConcentrationRow> rows, const FactoredGradients& gradients,
                            const Execution& execution = {});

/// Sets both bounds in all rows that have certified bounds.
void add_factored_bounds(std::span<ConcentrationRow> rows, const FactoredBounds& bounds,
                         const Execution& execution = {});

}  // namespace largo
