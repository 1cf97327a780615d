// A finite mixture Σ π_k μ_k of any laws. Attention over a mixture of Gaussians is a set of affine experts
// gated by a softmax. With r_k ∝ π_k e^{Λ_k(a)}:
//   Λ = log Σ π_k e^{Λ_k},   mean = Σ r_k m_k,   covariance = Σ r_k (C_k + (m_k - mean)(m_k - mean)ᵀ).
#pragma once

#include <vector>

#include "largo/measures/measure.hpp"

namespace largo {

class MixtureMeasure final : public Measure {
 public:
  /// Weights must be non-negative; they are normalised to sum to one. Laws may be nested at most 256 deep,
  /// with at most 1e6 laws at the bottom.
  MixtureMeasure(const Vector& weights, std::vector<MeasurePtr> components);

  double log_partition(const ConstVectorRef& direction) const override;
  Tilt tilt(const ConstVectorRef& direction, TiltOrder order) const override;
  std::vector<Tilt> tilts(const ConstMatrixRef& directions, TiltOrder order,
                          const Execution& execution = {}) const override;
  /// An upper bound: √(max_k σ_k² + r²), where r is the largest distance of a component's mean from the mean.
  double sub_gaussian_constant() const override;
  SubGaussianKind sub_gaussian_kind() const override;
  void sample(const Stream& stream, std::uint64_t first_token, Eigen::Ref<RowMatrix> tokens) const override;
  ScoreLaw score_law(const ConstVectorRef& direction) const override;
  std::vector<TokenLeaf> token_leaves() const override;

  const Vector& weights() const { return weights_; }
  const std::vector<MeasurePtr>& components() const { return components_; }
  Nesting nesting() const override { return nesting_; }

 private:
  Tilt combine(const std::vector<Tilt>& parts, TiltOrder order) const;

  Vector weights_;
  std::vector<double> cumulative_;
  std::vector<MeasurePtr> components_;
  Nesting nesting_;
};

}  // namespace largo
