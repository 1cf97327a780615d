// Product laws: independent coordinates. Λ(a) = Σ_j λ_j(a_j), mean_j = λ_j'(a_j); the covariance is diagonal.
#pragma once

#include <vector>

#include "largo/measures/coordinate_law.hpp"
#include "largo/measures/measure.hpp"

namespace largo {

class ProductMeasure final : public Measure {
 public:
  explicit ProductMeasure(std::vector<CoordinateLawPtr> coordinates);
  /// d independent copies of one law.
  ProductMeasure(std::ptrdiff_t dimension, const CoordinateLawPtr& coordinate);

  double log_partition(const ConstVectorRef& direction) const override;
  Tilt tilt(const ConstVectorRef& direction, TiltOrder order) const override;
  Matrix tilted_covariance_products(const ConstMatrixRef& directions, const ConstMatrixRef& vectors,
                                    const Execution& execution = {}) const override;
  /// The largest constant of a coordinate, which is the smallest possible for the product.
  double sub_gaussian_constant() const override;
  SubGaussianKind sub_gaussian_kind() const override { return SubGaussianKind::smallest; }
  void sample(const Stream& stream, std::uint64_t first_token, Eigen::Ref<RowMatrix> tokens) const override;
  /// Throws InputError for more than 2^16 components or two continuous coordinates (see Measure::score_law).
  ScoreLaw score_law(const ConstVectorRef& direction) const override;
  std::vector<TokenLeaf> token_leaves() const override;

 private:
  std::vector<CoordinateLawPtr> coordinates_;
};

}  // namespace largo
