// Laws of one real variable with bounded support, the coordinates of product laws. Each knows its cumulant
// function λ(a) = log E e^{aX}, its first two derivatives, its quantile function and the smallest σ with
// λ(a) - a E X ≤ σ²a²/2.
#pragma once

#include <memory>
#include <vector>

#include "largo/measures/score_law.hpp"

namespace largo {

struct Cumulants {
  double value;       ///< λ(a)
  double derivative;  ///< mean of the tilted law
  double curvature;   ///< variance of the tilted law
};

class CoordinateLaw {
 public:
  virtual ~CoordinateLaw() = default;
  /// Takes any finite a; does not overflow. Absolute error of value: 1e-15·max(1, |λ|). Errors of the
  /// derivatives are relative to the width.
  virtual Cumulants cumulants(double a) const = 0;
  /// Inverse distribution function, 0 < probability < 1.
  virtual double quantile(double probability) const = 0;
  virtual double sub_gaussian_constant() const = 0;
  /// The law as a mixture of standard shapes: the score law of X along 1, without the moments of X. A law of
  /// your own need not provide it: the default throws InputError.
  virtual std::vector<ScoreComponent> pieces() const;
};

using CoordinateLawPtr = std::shared_ptr<const CoordinateLaw>;

/// ±scale with probability 1/2 each: λ' = scale tanh(scale a).
CoordinateLawPtr rademacher(double scale = 1);
/// Uniform on [-half_width, half_width].
CoordinateLawPtr uniform(double half_width = 1);
/// ±scale with probability mass/2 each, 0 otherwise; 0 < mass <= 1.
CoordinateLawPtr three_point(double scale, double mass);
/// B - probability, with B Bernoulli; 0 < probability < 1.
CoordinateLawPtr centred_bernoulli(double probability);
/// Density ∝ e^{-|x|/scale} on [-bound, bound].
CoordinateLawPtr truncated_laplace(double scale, double bound);

}  // namespace largo
