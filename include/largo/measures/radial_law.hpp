// The law of the radius of elliptical laws.
#pragma once

#include <vector>

#include "largo/runtime/matrix.hpp"

namespace largo {

/// The law of the squared radius W: a bounded non-negative random variable.
class RadialLaw {
 public:
  /// Finitely many values; weights are normalised.
  static RadialLaw discrete(Vector values, const Vector& weights);
  /// Uniform on [low, high], 0 <= low < high.
  static RadialLaw uniform(double low, double high);

  struct Nodes {
    Vector values;
    Vector weights;             // sum to nearly one; the rest is negligible under the tilt
    double relative_error = 0;  // relative error of integrals by tail_nodes
  };
  /// Nodes that integrate e^{f(w)} to 1e-15 if f is increasing and concave and has slope `slope` at the top.
  Nodes nodes(double slope) const;
  /// Nodes for everything that is computed from the law of √W s x, from the bulk to the tilt by e^{2u}. They
  /// integrate e^{-u²/(2 w s²)} to 1e-13 of its largest value over w, for every u that is not negligible
  /// under this tilt. The weights sum to one.
  Nodes tail_nodes(double s) const;

  double largest() const;
  double quantile(double probability) const;
  /// For a discrete law: its values, and the cumulative sums of their probabilities. For a uniform law: low
  /// and high, and no sums.
  const Vector& values() const { return values_; }
  const std::vector<double>& cumulative() const { return cumulative_; }

 private:
  RadialLaw() = default;
  Vector values_;   // discrete: the values; uniform: {low, high}
  Vector weights_;  // empty for the uniform law
  std::vector<double> cumulative_;
};

}  // namespace largo
