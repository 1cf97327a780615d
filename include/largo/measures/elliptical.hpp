// Elliptical laws with a bounded radius: z = √W Γ^{1/2} x with W in [0, w_max] independent of x, where x is
// standard Gaussian or uniform on the sphere of radius √d (covariance I either way). cov(z) = E[W] Γ.
//
// With s² = aᵀΓa, Λ(a) = log E_W e^{ψ(√W s)}, ψ the radial log-partition of x: a mixture over one real
// variable. A continuous W is replaced, for each tilt, by Gauss-Legendre nodes on the part of its range that
// the tilt does not make negligible.
#pragma once

#include <vector>

#include "largo/measures/measure.hpp"

namespace largo {

/// The law of W: a bounded non-negative random variable.
class RadialLaw {
 public:
  /// Finitely many values; weights are normalised.
  static RadialLaw discrete(Vector values, const Vector& weights);
  /// Uniform on [low, high], 0 <= low < high.
  static RadialLaw uniform(double low, double high);

  struct Nodes {
    Vector values;
    Vector weights;             // sum to (nearly) one; what is missing is negligible under the tilt
    double relative_error = 0;  // of integrals by tail_nodes
  };
  /// Nodes that integrate e^{f(w)} to 1e-15 when f is increasing, concave, and has slope `slope` at the top.
  Nodes nodes(double slope) const;
  /// Nodes for all that is asked of the law of √W s x, from the bulk to the tilt by e^{2u}: they integrate
  /// e^{-u²/(2 w s²)} to 1e-13 of its largest value over w for every u that this tilt does not make
  /// negligible. Weights sum to one.
  Nodes tail_nodes(double s) const;

  double largest() const;
  double quantile(double probability) const;
  /// The values of a discrete law with the sums of their probabilities; low and high of a uniform one, none.
  const Vector& values() const { return values_; }
  const std::vector<double>& cumulative() const { return cumulative_; }

 private:
  RadialLaw() = default;
  Vector values_;   // discrete: the values; uniform: {low, high}
  Vector weights_;  // empty for the uniform law
  std::vector<double> cumulative_;
};

enum class EllipticalBase : std::uint8_t { gaussian, sphere };

class EllipticalMeasure final : public Measure {
 public:
  EllipticalMeasure(Matrix shape, EllipticalBase base, RadialLaw radial);

  double log_partition(const ConstVectorRef& direction) const override;
  Tilt tilt(const ConstVectorRef& direction, TiltOrder order) const override;
  /// √(w_max · largest eigenvalue of Γ): an upper bound, the smallest possible for a Gaussian base.
  double sub_gaussian_constant() const override;
  void sample(const Stream& stream, std::uint64_t first_token, Eigen::Ref<RowMatrix> tokens) const override;
  /// A continuous radius becomes a few hundred Gauss-Legendre nodes, one component each.
  ScoreLaw score_law(const ConstVectorRef& direction) const override;
  std::vector<TokenLeaf> token_leaves() const override;

 private:
  Matrix shape_;               // Γ
  RowMatrix root_transposed_;  // rank x d
  double largest_eigenvalue_ = 0;
  EllipticalBase base_;
  RadialLaw radial_;
};

}  // namespace largo
