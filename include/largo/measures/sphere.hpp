// Uniform laws on the sphere and on the ball of radius r in R^d. Along a direction of length x/r, the tilted
// law has mean r A_n(x) in that direction, variance r² A_n'(x) along it, and variance r² A_n(x)/x across it.
// Here n = d for the sphere and n = d + 2 for the ball (sphere_functions.hpp). Nothing overflows, for any d
// and ‖a‖.
#pragma once

#include "largo/measures/measure.hpp"

namespace largo {

/// The common part of sphere and ball: a rotation-invariant law whose radial log-partition is Λ_n.
class RoundMeasure : public Measure {
 public:
  double log_partition(const ConstVectorRef& direction) const override;
  Tilt tilt(const ConstVectorRef& direction, TiltOrder order) const override;
  Matrix tilted_covariance_products(const ConstMatrixRef& directions, const ConstMatrixRef& vectors,
                                    const Execution& execution = {}) const override;
  /// r/√n, the smallest possible constant: these laws are strictly sub-Gaussian.
  double sub_gaussian_constant() const override;
  SubGaussianKind sub_gaussian_kind() const override { return SubGaussianKind::smallest; }
  ScoreLaw score_law(const ConstVectorRef& direction) const override;
  double radius() const { return radius_; }

 protected:
  RoundMeasure(std::ptrdiff_t dimension, double order, double radius);

 private:
  double order_;  // n
  double radius_;
};

class SphereMeasure final : public RoundMeasure {
 public:
  SphereMeasure(std::ptrdiff_t dimension, double radius);
  void sample(const Stream& stream, std::uint64_t first_token, Eigen::Ref<RowMatrix> tokens) const override;
  std::vector<TokenLeaf> token_leaves() const override;
};

class BallMeasure final : public RoundMeasure {
 public:
  BallMeasure(std::ptrdiff_t dimension, double radius);
  void sample(const Stream& stream, std::uint64_t first_token, Eigen::Ref<RowMatrix> tokens) const override;
  std::vector<TokenLeaf> token_leaves() const override;
};

}  // namespace largo
