// The Gaussian law N(m, Γ); Γ may be singular. Its tilt is a translation:
//   Λ(a) = <a,m> + aᵀΓa/2,   ν_a = N(m + Γa, Γ).
// This is the Lemma: softmax attention over this law is the affine map z -> V m + V Γ U z.
#pragma once

#include "largo/measures/measure.hpp"

namespace largo {

class GaussianMeasure final : public Measure {
 public:
  /// Throws InputError unless the covariance is symmetric positive semi-definite (see covariance_root).
  GaussianMeasure(Vector mean, Matrix covariance);
  /// N(0, I_d)
  static GaussianMeasure standard(std::ptrdiff_t dimension);

  double log_partition(const ConstVectorRef& direction) const override;
  Tilt tilt(const ConstVectorRef& direction, TiltOrder order) const override;
  Matrix tilted_covariance_products(const ConstMatrixRef& directions, const ConstMatrixRef& vectors,
                                    const Execution& execution = {}) const override;
  Vector mean() const override { return mean_; }
  Matrix covariance() const override { return covariance_; }
  /// √(largest eigenvalue of Γ), the smallest possible constant.
  double sub_gaussian_constant() const override { return sub_gaussian_; }
  SubGaussianKind sub_gaussian_kind() const override { return SubGaussianKind::smallest; }
  void sample(const Stream& stream, std::uint64_t first_token, Eigen::Ref<RowMatrix> tokens) const override;
  ScoreLaw score_law(const ConstVectorRef& direction) const override;
  std::vector<TokenLeaf> token_leaves() const override;

 private:
  Vector mean_;
  Matrix covariance_;
  RowMatrix root_transposed_;  // rank x d: token = mean + root_transposed_ᵀ normals
  double sub_gaussian_ = 0;
};

}  // namespace largo
