// The law of M z + b, where z has any law: linear images and translations.
//   Λ(a) = <a,b> + Λ_z(Mᵀa),   mean = b + M m,   covariance = M C Mᵀ.
#pragma once

#include "largo/measures/measure.hpp"

namespace largo {

class AffineMeasure final : public Measure {
 public:
  /// `map` is d x d', where d' is the dimension of `base`; `offset` has size d. Laws may be nested at most
  /// 256 deep, with at most 1e6 laws at the bottom.
  AffineMeasure(Matrix map, Vector offset, MeasurePtr base);
  static AffineMeasure linear_image(Matrix map, MeasurePtr base);
  static AffineMeasure translation(Vector offset, MeasurePtr base);

  double log_partition(const ConstVectorRef& direction) const override;
  Tilt tilt(const ConstVectorRef& direction, TiltOrder order) const override;
  std::vector<Tilt> tilts(const ConstMatrixRef& directions, TiltOrder order,
                          const Execution& execution = {}) const override;
  Matrix tilted_covariance_products(const ConstMatrixRef& directions, const ConstMatrixRef& vectors,
                                    const Execution& execution = {}) const override;
  /// ‖M‖_op times the constant of the base: an upper bound.
  double sub_gaussian_constant() const override;
  SubGaussianKind sub_gaussian_kind() const override;
  void sample(const Stream& stream, std::uint64_t first_token, Eigen::Ref<RowMatrix> tokens) const override;
  ScoreLaw score_law(const ConstVectorRef& direction) const override;
  std::vector<TokenLeaf> token_leaves() const override;

  const MeasurePtr& base() const { return base_; }
  Nesting nesting() const override { return nesting_; }

 private:
  Tilt image(const Tilt& base, const ConstVectorRef& direction, TiltOrder order) const;

  Matrix map_;
  Vector offset_;
  MeasurePtr base_;
  Nesting nesting_;
};

}  // namespace largo
