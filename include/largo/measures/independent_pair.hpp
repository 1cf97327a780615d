// The law of (x, y), x and y independent, of any laws:
//   Λ(a, b) = Λ_x(a) + Λ_y(b),   mean and covariance by blocks.
#pragma once

#include "largo/measures/measure.hpp"

namespace largo {

class IndependentPair final : public Measure {
 public:
  /// Nested at most 256 deep, with at most 1e6 laws at the bottom.
  IndependentPair(MeasurePtr first, MeasurePtr second);

  double log_partition(const ConstVectorRef& direction) const override;
  Tilt tilt(const ConstVectorRef& direction, TiltOrder order) const override;
  std::vector<Tilt> tilts(const ConstMatrixRef& directions, TiltOrder order,
                          const Execution& execution = {}) const override;
  Matrix tilted_covariance_products(const ConstMatrixRef& directions, const ConstMatrixRef& vectors,
                                    const Execution& execution = {}) const override;
  Vector mean() const override;
  Matrix covariance() const override;
  /// The larger of the two: the smallest possible where theirs are.
  double sub_gaussian_constant() const override;
  SubGaussianKind sub_gaussian_kind() const override;
  void sample(const Stream& stream, std::uint64_t first_token, Eigen::Ref<RowMatrix> tokens) const override;
  /// Where the score of one is discrete and tells all of it, or both are Gaussian or constant. Otherwise a
  /// convolution: InputError, as beyond 2^16 components.
  ScoreLaw score_law(const ConstVectorRef& direction) const override;

  const MeasurePtr& first() const { return first_; }
  const MeasurePtr& second() const { return second_; }
  Nesting nesting() const override { return nesting_; }

 private:
  Tilt join(const Tilt& first, const Tilt& second, TiltOrder order) const;

  MeasurePtr first_;
  MeasurePtr second_;
  Nesting nesting_;
};

}  // namespace largo
