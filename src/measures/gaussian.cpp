#include "largo/measures/gaussian.hpp"

#include <cmath>
#include <utility>

#include "largo/measures/token_leaf.hpp"
#include "largo/runtime/check.hpp"
#include "measures/sampling.hpp"
#include "measures/score_law_parts.hpp"
#include "numerics/factor.hpp"

namespace largo {

GaussianMeasure::GaussianMeasure(Vector mean, Matrix covariance)
    : Measure(mean.size()), mean_(std::move(mean)), covariance_(std::move(covariance)) {
  check_finite("GaussianMeasure", "mean", mean_);
  check_shape("GaussianMeasure", "covariance", covariance_.rows(), covariance_.cols(), dimension(),
              dimension());
  const numerics::CovarianceRoot factor =
      numerics::covariance_root("GaussianMeasure", "covariance", covariance_);
  root_transposed_ = factor.root.transpose();
  sub_gaussian_ = std::sqrt(factor.largest);
}

GaussianMeasure GaussianMeasure::standard(std::ptrdiff_t dimension) {
  return {Vector::Zero(dimension), Matrix::Identity(dimension, dimension)};
}

double GaussianMeasure::log_partition(const ConstVectorRef& direction) const {
  return tilt(direction, TiltOrder::log_partition).log_partition;
}

Tilt GaussianMeasure::tilt(const ConstVectorRef& direction, TiltOrder order) const {
  check_direction(direction);
  Tilt result;
  const Vector shift = covariance_ * direction;
  result.log_partition = direction.dot(mean_) + direction.dot(shift) / 2;
  if (order >= TiltOrder::mean) result.mean = mean_ + shift;
  if (order >= TiltOrder::covariance) result.covariance = covariance_;
  return finite(std::move(result));
}

Matrix GaussianMeasure::tilted_covariance_products(const ConstMatrixRef& directions,
                                                   const ConstMatrixRef& vectors,
                                                   const Execution& /*execution*/) const {
  return product_of_each_pair(
      directions, vectors,
      [&](const auto& /*direction*/, const auto& vector) -> Vector { return covariance_ * vector; });
}

void GaussianMeasure::sample(const Stream& stream, std::uint64_t first_token,
                             Eigen::Ref<RowMatrix> tokens) const {
  check_size("sample", "each token", tokens.cols(), dimension());
  measures::sample_linear_image(stream, first_token, mean_, root_transposed_, tokens);
}

ScoreLaw GaussianMeasure::score_law(const ConstVectorRef& direction) const {
  check_direction(direction);
  const double centre = direction.dot(mean_);
  // Through the root, so that Γa/s is right even if s is zero except for rounding.
  const Vector whitened = root_transposed_ * direction;
  const double s = whitened.norm();
  if (!(s > 0)) return measures::finite_law(measures::constant_score(centre, mean_, covariance_, 1));
  const Vector slope = root_transposed_.transpose() * (whitened / s);
  ScoreLaw law;
  law.covariances.emplace_back(covariance_ - slope * slope.transpose());
  measures::add_round_component(law, 1, measures::RoundBase{0, 1}, centre, s, mean_, slope);
  return measures::finite_law(std::move(law));
}

std::vector<TokenLeaf> GaussianMeasure::token_leaves() const {
  TokenLeaf leaf;
  leaf.base = NormalTokens{root_transposed_.rows()};
  leaf.map = root_transposed_.transpose();
  leaf.offset = mean_;
  return {leaf};
}

}  // namespace largo
