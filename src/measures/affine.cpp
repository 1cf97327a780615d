#include "largo/measures/affine.hpp"

#include <algorithm>
#include <utility>

#include "largo/measures/token_leaf.hpp"
#include "largo/runtime/check.hpp"
#include "measures/nesting.hpp"
#include "measures/sampling.hpp"
#include "measures/score_law_parts.hpp"
#include "numerics/factor.hpp"

namespace largo {

AffineMeasure::AffineMeasure(Matrix map, Vector offset, MeasurePtr base)
    : Measure(offset.size()), map_(std::move(map)), offset_(std::move(offset)), base_(std::move(base)) {
  if (!base_) fail("AffineMeasure", "the base law is null");
  nesting_ = measures::nesting_around("AffineMeasure", {base_});
  check_shape("AffineMeasure", "map", map_.rows(), map_.cols(), dimension(), base_->dimension());
  check_finite("AffineMeasure", "map", map_);
  check_finite("AffineMeasure", "offset", offset_);
}

AffineMeasure AffineMeasure::linear_image(Matrix map, MeasurePtr base) {
  const Vector zero = Vector::Zero(map.rows());
  return {std::move(map), zero, std::move(base)};
}

AffineMeasure AffineMeasure::translation(Vector offset, MeasurePtr base) {
  const auto d = offset.size();
  return {Matrix::Identity(d, d), std::move(offset), std::move(base)};
}

double AffineMeasure::log_partition(const ConstVectorRef& direction) const {
  check_direction(direction);
  return direction.dot(offset_) + base_->log_partition(map_.transpose() * direction);
}

Tilt AffineMeasure::image(const Tilt& base, const ConstVectorRef& direction, TiltOrder order) const {
  Tilt result;
  result.log_partition = direction.dot(offset_) + base.log_partition;
  if (order >= TiltOrder::mean) result.mean = offset_ + map_ * base.mean;
  if (order >= TiltOrder::covariance) result.covariance = map_ * base.covariance * map_.transpose();
  return result;
}

Tilt AffineMeasure::tilt(const ConstVectorRef& direction, TiltOrder order) const {
  check_direction(direction);
  return image(base_->tilt(map_.transpose() * direction, order), direction, order);
}

std::vector<Tilt> AffineMeasure::tilts(const ConstMatrixRef& directions, TiltOrder order,
                                       const Execution& execution) const {
  check_size("tilts", "each direction", directions.rows(), dimension());
  // Column by column: the last bits of a matrix product depend on the number of columns.
  Matrix pulled(base_->dimension(), directions.cols());
  for (std::ptrdiff_t q = 0; q < directions.cols(); ++q) pulled.col(q) = map_.transpose() * directions.col(q);
  std::vector<Tilt> results = base_->tilts(pulled, order, execution);
  for (std::size_t q = 0; q < results.size(); ++q) {
    results[q] = image(results[q], directions.col(static_cast<std::ptrdiff_t>(q)), order);
  }
  return results;
}

Matrix AffineMeasure::tilted_covariance_products(const ConstMatrixRef& directions,
                                                 const ConstMatrixRef& vectors,
                                                 const Execution& execution) const {
  check_pairs(directions, vectors);
  Matrix base_directions(base_->dimension(), directions.cols());
  Matrix base_vectors(base_->dimension(), vectors.cols());
  for (std::ptrdiff_t q = 0; q < directions.cols(); ++q) {
    base_directions.col(q) = map_.transpose() * directions.col(q);
    base_vectors.col(q) = map_.transpose() * vectors.col(q);
  }
  const Matrix base = base_->tilted_covariance_products(base_directions, base_vectors, execution);
  Matrix products(dimension(), directions.cols());
  for (std::ptrdiff_t q = 0; q < directions.cols(); ++q) products.col(q) = map_ * base.col(q);
  return products;
}

double AffineMeasure::sub_gaussian_constant() const {
  const double norm = numerics::operator_norm(map_);
  return norm * base_->sub_gaussian_constant();
}

SubGaussianKind AffineMeasure::sub_gaussian_kind() const {
  return std::max(SubGaussianKind::at_most, base_->sub_gaussian_kind());
}

void AffineMeasure::sample(const Stream& stream, std::uint64_t first_token,
                           Eigen::Ref<RowMatrix> tokens) const {
  check_size("sample", "each token", tokens.cols(), dimension());
  RowMatrix base_tokens(tokens.rows(), base_->dimension());
  base_->sample(stream, first_token, base_tokens);
  const RowMatrix map_transposed = map_.transpose();
  for (std::ptrdiff_t i = 0; i < tokens.rows(); ++i) {
    const std::span<const double> z(base_tokens.row(i).data(), static_cast<std::size_t>(base_tokens.cols()));
    measures::linear_image(z, map_transposed, offset_, tokens.row(i));
  }
}

ScoreLaw AffineMeasure::score_law(const ConstVectorRef& direction) const {
  check_direction(direction);
  ScoreLaw law = base_->score_law(map_.transpose() * direction);
  const double shift = direction.dot(offset_);
  for (ScoreComponent& component : law.components) {
    component.centre += shift;
    component.mean = offset_ + map_ * component.mean;
    if (component.slope.size() > 0) component.slope = map_ * component.slope;
  }
  for (Matrix& covariance : law.covariances) covariance = map_ * covariance * map_.transpose();
  return measures::finite_law(std::move(law));
}

std::vector<TokenLeaf> AffineMeasure::token_leaves() const {
  std::vector<TokenLeaf> leaves = base_->token_leaves();
  for (TokenLeaf& leaf : leaves) {
    leaf.offset = leaf.offset.size() == 0 ? offset_ : Vector(offset_ + map_ * leaf.offset);
    leaf.map = leaf.map.rows() == 0 ? map_ : Matrix(map_ * leaf.map);
  }
  return leaves;
}

}  // namespace largo
