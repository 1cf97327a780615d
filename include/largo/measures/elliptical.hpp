// Elliptical laws with a bounded radius: z = √W Γ^{1/2} x, where W in [0, w_max] is independent of x, and x
// is standard Gaussian or uniform on the sphere of radius √d (covariance I either way). cov(z) = E[W] Γ.
//
// With s² = aᵀΓa, Λ(a) = log E_W e^{ψ(√W s)}, where ψ is the radial log-partition of x: a mixture over one
// real variable. For each tilt, a continuous W is replaced by Gauss-Legendre nodes on the part of its range
// that is not negligible under the tilt.
#pragma once

#include <vector>

#include "largo/measures/measure.hpp"
#include "largo/measures/radial_law.hpp"

namespace largo {

enum class EllipticalBase : std::uint8_t { gaussian, sphere };

class EllipticalMeasure final : public Measure {
 public:
  EllipticalMeasure(Matrix shape, EllipticalBase base, RadialLaw radial);

  double log_partition(const ConstVectorRef& direction) const override;
  Tilt tilt(const ConstVectorRef& direction, TiltOrder order) const override;
  /// √(w_max · largest eigenvalue of Γ): an upper bound, and the smallest possible constant for a Gaussian
  /// base.
  double sub_gaussian_constant() const override;
  SubGaussianKind sub_gaussian_kind() const override { return SubGaussianKind::at_most; }
  void sample(const Stream& stream, std::uint64_t first_token, Eigen::Ref<RowMatrix> tokens) const override;
  /// A continuous radius becomes a few hundred Gauss-Legendre nodes, one component each.
  ScoreLaw score_law(const ConstVectorRef& direction) const override;
  std::vector<TokenLeaf> token_leaves() const override;

 private:
  double fourth_moments() const;

  Matrix shape_;               // Γ
  RowMatrix root_transposed_;  // rank x d
  double largest_eigenvalue_ = 0;
  EllipticalBase base_;
  RadialLaw radial_;
};

}  // namespace largo
