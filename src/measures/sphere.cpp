#include "largo/measures/sphere.hpp"

#include <cmath>
#include <utility>

#include "largo/measures/token_leaf.hpp"
#include "largo/runtime/check.hpp"
#include "measures/sampling.hpp"
#include "measures/score_law_parts.hpp"
#include "numerics/sphere_functions.hpp"

namespace largo {
namespace {

// ‖a‖, even if the squares of its entries overflow. (The bits of Eigen's stableNorm depend on the alignment
// of its argument in memory, and results must not.)
double length_of(const ConstVectorRef& direction) {
  constexpr double kSquareOverflows = 1e150;
  const double largest = direction.cwiseAbs().maxCoeff();
  return largest < kSquareOverflows ? direction.norm() : largest * (direction / largest).norm();
}

}  // namespace

RoundMeasure::RoundMeasure(std::ptrdiff_t dimension, double order, double radius)
    : Measure(dimension), order_(order), radius_(radius) {}

double RoundMeasure::log_partition(const ConstVectorRef& direction) const {
  check_direction(direction);
  return numerics::sphere_tilt(order_, radius_ * length_of(direction)).value;
}

Tilt RoundMeasure::tilt(const ConstVectorRef& direction, TiltOrder order) const {
  check_direction(direction);
  const double norm = length_of(direction);
  const numerics::SphereTilt radial = numerics::sphere_tilt(order_, radius_ * norm);
  Tilt result;
  result.log_partition = radial.value;
  const double across = radius_ * radius_ * radial.derivative_over_x;
  if (order >= TiltOrder::mean) result.mean = across * direction;
  if (order >= TiltOrder::covariance) {
    result.covariance = across * Matrix::Identity(dimension(), dimension());
    if (norm > 0) {
      const Vector unit = direction / norm;
      const double along = radius_ * radius_ * radial.second_derivative;
      // Not as (along - across) uuᵀ: on the line, d = 1, along may be far below the rounding of across.
      const Matrix projection = unit * unit.transpose();
      result.covariance -= across * projection;
      result.covariance += along * projection;
    }
  }
  return finite(std::move(result));
}

Matrix RoundMeasure::tilted_covariance_products(const ConstMatrixRef& directions,
                                                const ConstMatrixRef& vectors,
                                                const Execution& /*execution*/) const {
  return product_of_each_pair(directions, vectors, [&](const auto& direction, const auto& vector) {
    const double norm = length_of(direction);
    const numerics::SphereTilt radial = numerics::sphere_tilt(order_, radius_ * norm);
    const double across = radius_ * radius_ * radial.derivative_over_x;
    const double along = radius_ * radius_ * radial.second_derivative;
    Vector product = across * vector;
    if (norm > 0) {
      const Vector unit = direction / norm;
      const double component = unit.dot(vector);
      product -= across * component * unit;
      product += along * component * unit;
    }
    return product;
  });
}

double RoundMeasure::sub_gaussian_constant() const { return radius_ / std::sqrt(order_); }

// The ball is the projection of the sphere of R^{d+2}: one formula for both.
ScoreLaw RoundMeasure::score_law(const ConstVectorRef& direction) const {
  check_direction(direction);
  const Matrix identity = Matrix::Identity(dimension(), dimension());
  const Vector zero = Vector::Zero(dimension());
  const double norm = length_of(direction);
  if (!(norm > 0)) {
    return measures::constant_score(0, zero, radius_ * radius_ / order_ * identity,
                                    measures::sphere_fourth(order_));
  }
  const Vector unit = direction / norm;
  ScoreLaw law;
  law.covariances.emplace_back(identity - unit * unit.transpose());
  measures::add_round_component(law, 1, measures::RoundBase{order_, radius_}, 0, norm, zero, unit);
  return measures::finite_law(std::move(law));
}

SphereMeasure::SphereMeasure(std::ptrdiff_t dimension, double radius)
    : RoundMeasure(dimension, static_cast<double>(dimension), radius) {
  check_positive("SphereMeasure", "radius", radius);
}

void SphereMeasure::sample(const Stream& stream, std::uint64_t first_token,
                           Eigen::Ref<RowMatrix> tokens) const {
  check_size("sample", "each token", tokens.cols(), dimension());
  measures::sample_sphere(stream, first_token, radius(), tokens);
}

BallMeasure::BallMeasure(std::ptrdiff_t dimension, double radius)
    : RoundMeasure(dimension, static_cast<double>(dimension) + 2, radius) {
  check_positive("BallMeasure", "radius", radius);
}

void BallMeasure::sample(const Stream& stream, std::uint64_t first_token,
                         Eigen::Ref<RowMatrix> tokens) const {
  check_size("sample", "each token", tokens.cols(), dimension());
  measures::sample_sphere(stream, first_token, radius(), tokens);
  const std::vector<double> uniforms = measures::side_uniforms(stream, first_token, tokens.rows());
  for (std::ptrdiff_t i = 0; i < tokens.rows(); ++i) {
    tokens.row(i) *= std::pow(uniforms[static_cast<std::size_t>(i)], 1 / static_cast<double>(dimension()));
  }
}

std::vector<TokenLeaf> SphereMeasure::token_leaves() const {
  TokenLeaf leaf;
  leaf.base = SphereTokens{dimension(), dimension()};
  leaf.scale = radius();
  return {leaf};
}

// The uniform law of the ball is the projection of that of a sphere of two more dimensions (Archimedes).
std::vector<TokenLeaf> BallMeasure::token_leaves() const {
  TokenLeaf leaf;
  leaf.base = SphereTokens{dimension(), dimension() + 2};
  leaf.scale = radius();
  return {leaf};
}

}  // namespace largo
