// The law of (x, y), where x and y are independent and have any laws:
//   Λ(a, b) = Λ_x(a) + Λ_y(b);   mean and covariance by blocks.
#pragma once

#include "largo/measures/measure.hpp"

namespace largo {

class IndependentPair final : public Measure {
 public:
  /// Laws may be nested at most 256 deep, with at most 1e6 laws at the bottom.
  IndependentPair(MeasurePtr first, MeasurePtr second);

  double log_partition(const ConstVectorRef& direction) const override;
  Tilt tilt(const ConstVectorRef& direction, TiltOrder order) const override;
  std::vector<Tilt> tilts(const ConstMatrixRef& directions, TiltOrder order,
                          const Execution& execution = {}) const override;
  Matrix tilted_covariance_products(const ConstMatrixRef& directions, const ConstMatrixRef& vectors,
                                    const Execution& execution = {}) const override;
  Vector mean() const override;
  Matrix covariance() const override;
  /// The larger of the two constants. It is the smallest possible if theirs are.
  double sub_gaussian_constant() const override;
  SubGaussianKind sub_gaussian_kind() const override;
  void sample(const Stream& stream, std::uint64_t first_token, Eigen::Ref<RowMatrix> tokens) const override;
  /// Known if one score is discrete and determines its part of the token, or if both parts are Gaussian or
  /// constant. Otherwise the score is a convolution: InputError, as for more than 2^16 components.
  ScoreLaw score_law(const ConstVectorRef& direction) const override;
  /// Pairs of Gaussian laws, or of mixtures of them, are Gaussian; other pairs sample themselves.
  std::vector<TokenLeaf> token_leaves() const override;

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
