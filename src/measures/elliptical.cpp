#include "largo/measures/elliptical.hpp"

#include <cmath>
#include <utility>

#include "largo/measures/token_leaf.hpp"
#include "largo/runtime/check.hpp"
#include "measures/sampling.hpp"
#include "measures/score_law_parts.hpp"
#include "numerics/factor.hpp"
#include "numerics/log_sum_exp.hpp"
#include "numerics/sphere_functions.hpp"

namespace largo {
namespace {

// The radial log-partition ψ of x at ρ, with ψ'/ρ and ψ''.
struct Radial {
  double value;
  double derivative_over_rho;
  double second_derivative;
};

Radial radial_log_partition(EllipticalBase base, std::ptrdiff_t dimension, double rho) {
  if (base == EllipticalBase::gaussian) return {rho * rho / 2, 1, 1};
  const auto d = static_cast<double>(dimension);
  const numerics::SphereTilt tilt = numerics::sphere_tilt(d, std::sqrt(d) * rho);
  return {tilt.value, d * tilt.derivative_over_x, d * tilt.second_derivative};
}

}  // namespace

EllipticalMeasure::EllipticalMeasure(Matrix shape, EllipticalBase base, RadialLaw radial)
    : Measure(shape.rows()), shape_(std::move(shape)), base_(base), radial_(std::move(radial)) {
  const numerics::CovarianceRoot factor = numerics::covariance_root("EllipticalMeasure", "shape", shape_);
  root_transposed_ = factor.root.transpose();
  largest_eigenvalue_ = factor.largest;
}

double EllipticalMeasure::log_partition(const ConstVectorRef& direction) const {
  return tilt(direction, TiltOrder::log_partition).log_partition;
}

// Given W = w the tilt has mean g Γa and covariance g (Γ - uuᵀ) + h uuᵀ, with ρ = √w s, u = Γa/s,
// g = w ψ'(ρ)/ρ and h = w ψ''(ρ). The law of total covariance over w then gives the tilt.
Tilt EllipticalMeasure::tilt(const ConstVectorRef& direction, TiltOrder order) const {
  check_direction(direction);
  const Vector shifted = shape_ * direction;
  const double s = std::sqrt(std::max(0.0, direction.dot(shifted)));
  const double top = std::sqrt(radial_.largest()) * s;
  const double slope = radial_log_partition(base_, dimension(), top).derivative_over_rho * s * s / 2;
  const RadialLaw::Nodes nodes = radial_.nodes(slope);

  const auto count = static_cast<std::size_t>(nodes.values.size());
  std::vector<Radial> parts(count);
  std::vector<double> scores(count);
  for (std::size_t k = 0; k < count; ++k) {
    const auto at = static_cast<std::ptrdiff_t>(k);
    parts[k] = radial_log_partition(base_, dimension(), std::sqrt(nodes.values[at]) * s);
    scores[k] = std::log(nodes.weights[at]) + parts[k].value;
  }
  Tilt result;
  result.log_partition = numerics::log_sum_exp(scores);
  if (order == TiltOrder::log_partition) return finite(std::move(result));

  const Vector responsibility = numerics::softmax(scores);
  double mean_g = 0;
  double mean_h = 0;
  for (std::size_t k = 0; k < count; ++k) {
    const auto at = static_cast<std::ptrdiff_t>(k);
    const double weight = responsibility[at] * nodes.values[at];
    mean_g += weight * parts[k].derivative_over_rho;
    mean_h += weight * parts[k].second_derivative;
  }
  result.mean = mean_g * shifted;
  if (order == TiltOrder::mean) return finite(std::move(result));

  double variance_g = 0;
  for (std::size_t k = 0; k < count; ++k) {
    const auto at = static_cast<std::ptrdiff_t>(k);
    const double deviation = nodes.values[at] * parts[k].derivative_over_rho - mean_g;
    variance_g += responsibility[at] * deviation * deviation;
  }
  result.covariance = mean_g * shape_;
  if (s > 0) {
    const Vector u = shifted / s;
    const Matrix projection = u * u.transpose();
    // Separate from the next term: along u, g may be far larger than h.
    result.covariance -= mean_g * projection;
    result.covariance += (mean_h + s * s * variance_g) * projection;
  }
  return finite(std::move(result));
}

// E W²/(E W)² times that of the base: over all radii, in directions that have no say in the score.
double EllipticalMeasure::fourth_moments() const {
  const RadialLaw::Nodes nodes = radial_.nodes(0);
  const double mean = nodes.weights.dot(nodes.values);
  if (!(mean > 0)) return 1;  // a point
  const double spread = nodes.weights.dot((nodes.values / mean).array().square().matrix());
  return base_ == EllipticalBase::gaussian
             ? spread
             : spread * measures::sphere_fourth(static_cast<double>(dimension()));
}

// Given W = w the law is a Gaussian or a sphere of radius √(w d); all of these share Γa/s and Γ - Γa(Γa)ᵀ/s².
ScoreLaw EllipticalMeasure::score_law(const ConstVectorRef& direction) const {
  check_direction(direction);
  const Vector zero = Vector::Zero(dimension());
  const Vector whitened = root_transposed_ * direction;
  const double s = whitened.norm();
  if (!(s > 0)) return measures::constant_score(0, zero, covariance(), fourth_moments());
  const Vector slope = root_transposed_.transpose() * (whitened / s);
  const auto d = static_cast<double>(dimension());
  const RadialLaw::Nodes nodes = radial_.tail_nodes(s);
  ScoreLaw law;
  law.covariances.emplace_back(shape_ - slope * slope.transpose());
  law.relative_error = nodes.relative_error;
  for (std::ptrdiff_t k = 0; k < nodes.values.size(); ++k) {
    const double w = nodes.values[k];
    if (nodes.weights[k] == 0) continue;
    if (w == 0) {
      ScoreComponent atom;
      atom.weight = nodes.weights[k];
      atom.mean = zero;
      law.components.push_back(std::move(atom));
      continue;
    }
    const measures::RoundBase base = base_ == EllipticalBase::gaussian
                                         ? measures::RoundBase{0, std::sqrt(w)}
                                         : measures::RoundBase{d, std::sqrt(w * d)};
    measures::add_round_component(law, nodes.weights[k], base, 0, s, zero, slope);
  }
  return measures::finite_law(std::move(law));
}

double EllipticalMeasure::sub_gaussian_constant() const {
  return std::sqrt(radial_.largest() * largest_eigenvalue_);
}

void EllipticalMeasure::sample(const Stream& stream, std::uint64_t first_token,
                               Eigen::Ref<RowMatrix> tokens) const {
  check_size("sample", "each token", tokens.cols(), dimension());
  if (base_ == EllipticalBase::gaussian) {
    measures::sample_linear_image(stream, first_token, Vector::Zero(dimension()), root_transposed_, tokens);
  } else {
    RowMatrix sphere(tokens.rows(), dimension());
    measures::sample_sphere(stream, first_token, std::sqrt(static_cast<double>(dimension())), sphere);
    // A singular Γ has a root of fewer columns; by rotation invariance any coordinates of x will do.
    for (std::ptrdiff_t i = 0; i < tokens.rows(); ++i) {
      const std::span<const double> x(sphere.row(i).data(),
                                      static_cast<std::size_t>(root_transposed_.rows()));
      measures::linear_image(x, root_transposed_, Vector::Zero(dimension()), tokens.row(i));
    }
  }
  const std::vector<double> uniforms = measures::side_uniforms(stream, first_token, tokens.rows());
  for (std::ptrdiff_t i = 0; i < tokens.rows(); ++i) {
    tokens.row(i) *= std::sqrt(radial_.quantile(uniforms[static_cast<std::size_t>(i)]));
  }
}

std::vector<TokenLeaf> EllipticalMeasure::token_leaves() const {
  const std::ptrdiff_t rank = root_transposed_.rows();
  TokenLeaf leaf;
  if (base_ == EllipticalBase::gaussian) {
    leaf.base = NormalTokens{rank};
  } else {
    leaf.base = SphereTokens{rank, dimension()};
    leaf.scale = std::sqrt(static_cast<double>(dimension()));
  }
  leaf.squared_radius = radial_;
  leaf.map = root_transposed_.transpose();
  return {leaf};
}

}  // namespace largo
