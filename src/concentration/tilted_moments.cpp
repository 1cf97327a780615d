#include "concentration/tilted_moments.hpp"

#include <algorithm>
#include <cmath>

#include "largo/measures/empirical.hpp"
#include "largo/measures/token_leaf.hpp"
#include "largo/runtime/check.hpp"
#include "numerics/factor.hpp"

namespace largo::concentration {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kFactorial4 = 24, kFactorial8 = 40320;
constexpr double kLargestLog = 600;  // of a partition function, far from overflow
constexpr double kRounding = 4e-16;  // of a value of Λ or of a mean, relative to its size

// The ends of the support of a coordinate; none if it is not bounded, or not known.
struct Interval {
  double low = kInfinity, high = -kInfinity;
};
std::optional<Interval> support_of(const CoordinateLaw& law) {
  std::vector<ScoreComponent> pieces;
  try {
    pieces = law.pieces();
  } catch (const InputError&) {
    return std::nullopt;  // a law of the user's own
  }
  Interval support;
  for (const ScoreComponent& piece : pieces) {
    if (piece.shape == ScoreShape::gaussian) return std::nullopt;
    const double width = piece.shape == ScoreShape::atom ? 0 : piece.scale;
    support.low = std::min(support.low, piece.centre - width);
    support.high = std::max(support.high, piece.centre + width);
  }
  return support;
}

// ‖Σ_j x_j column_j‖ over all |x_j| <= 1
double reach_of_cube(const Matrix& columns) {
  const double by_norm = numerics::operator_norm(columns) * std::sqrt(static_cast<double>(columns.cols()));
  return std::min(columns.colwise().norm().sum(), by_norm);
}

struct ReachOf {
  const TokenLeaf& leaf;
  Matrix map;    // from standard tokens to A z
  Vector shift;  // A (offset − centre)
  using Result = std::optional<double>;

  Result operator()(const NormalTokens&) const {
    if (!map.isZero(0)) return std::nullopt;
    return shift.norm();
  }
  Result operator()(const SphereTokens&) const {
    return shift.norm() + radius() * numerics::operator_norm(map);
  }
  Result operator()(const ProductTokens& base) const {
    Matrix columns = map;
    Vector middle = Vector::Zero(map.cols());
    for (Eigen::Index j = 0; j < columns.cols(); ++j) {
      const auto support = support_of(*base.coordinates[static_cast<std::size_t>(j)]);
      if (!support) return std::nullopt;
      columns.col(j) *= radius() * (support->high - support->low) / 2;
      middle[j] = (support->high + support->low) / 2;
    }
    // A random radius moves the middle of the cube, too.
    if (leaf.squared_radius) return shift.norm() + radius() * (map * middle).norm() + reach_of_cube(columns);
    return (shift + map * middle).norm() + reach_of_cube(columns);
  }
  Result operator()(const SampledTokens& base) const {
    const auto* prompt = dynamic_cast<const EmpiricalMeasure*>(base.law);
    if (prompt == nullptr) return std::nullopt;
    const ArrayView& tokens = prompt->tokens();
    double largest = 0;
    Vector token(tokens.columns);
    for (std::int64_t i = 0; i < tokens.rows; ++i) {
      for (std::int64_t j = 0; j < tokens.columns; ++j) token[j] = tokens(i, j) - base.centre[j];
      largest = std::max(largest, (shift + radius() * (map * token)).norm());
    }
    return largest;
  }

  double radius() const { return leaf.squared_radius ? std::sqrt(leaf.squared_radius->largest()) : 1; }
};

// A moment that has vanished in rounding is not known.
TiltedMoments positive(const TiltedMoments& moments) {
  const auto known = [](double moment) { return moment > 0 ? moment : kInfinity; };
  return {known(moments.fourth), known(moments.eighth)};
}

// Bounds on E y⁴ and E y⁸, y = <h, z − centre> and z ~ ν_b. Any c > 0 gives one; for small c rounding grows.
TiltedMoments along(const Measure& law, const Vector& b, const Tilt& tilt, const Vector& h,
                    const Vector& centre) {
  const double shift = h.dot(tilt.mean - centre);
  const double slip = rounding_of_shift(h.transpose(), tilt.mean, centre);
  const double second = h.dot(tilt.covariance * h) + shift * shift;
  if (second == 0 && slip == 0) return {0, 0};
  const double doubt = 2 * std::abs(shift) * slip + slip * slip;  // of the second moment
  TiltedMoments least;
  for (const double steps : {0.125, 0.25, 0.5, 1.0, 2.0, 3.0, 4.0}) {
    const double c = steps / std::sqrt(second + doubt);
    double sum = 0, size = 1;
    for (const double sign : {1.0, -1.0}) {
      const double value = law.log_partition(b + sign * c * h);
      const double log = value - tilt.log_partition - sign * c * h.dot(centre);
      if (!(log < kLargestLog)) return positive(least);
      sum += 0.5 * std::expm1(log);
      size += (std::abs(value) + std::abs(tilt.log_partition) + std::abs(c * h.dot(centre))) *
              std::max(1.0, std::exp(log));
    }
    const double rest = sum - 0.5 * c * c * (second - doubt) + kRounding * size + kRounding * c * c * second;
    const double fourth = std::max(kFactorial4 * rest / std::pow(c, 4), second * second);
    least.fourth = std::min(least.fourth, fourth);
    least.eighth = std::min(least.eighth, std::max(kFactorial8 * rest / std::pow(c, 8), fourth * fourth));
  }
  return positive(least);
}

// The moments of a law with finitely many points.
TiltedMoments sums_over(const EmpiricalMeasure& law, const Vector& b, const ConstMatrixRef& A,
                        const Vector& centre) {
  constexpr double kRounded = 1 + 1e-12;  // weights and sums are rounded
  const Vector weights = law.softmax_weights(b);
  const ArrayView& tokens = law.tokens();
  TiltedMoments sums{0, 0};
  Vector token(tokens.columns);
  for (std::int64_t i = 0; i < tokens.rows; ++i) {
    for (std::int64_t j = 0; j < tokens.columns; ++j) token[j] = tokens(i, j) - centre[j];
    const double square = (A * token).squaredNorm();
    sums.fourth += weights[i] * square * square;
    sums.eighth += weights[i] * square * square * square * square;
  }
  return {kRounded * sums.fourth, kRounded * sums.eighth};
}

}  // namespace

double rounding_of_shift(const ConstMatrixRef& A, const Vector& p, const Vector& q) {
  return kRounding * (A.cwiseAbs() * (p.cwiseAbs() + q.cwiseAbs())).norm();
}

std::optional<double> reach(const TokenLeaf& leaf, const ConstMatrixRef& A, const Vector& centre) {
  return std::visit(ReachOf{leaf, A * leaf.whole_map(), A * (leaf.whole_offset() - centre)}, leaf.base);
}

std::optional<double> reach(const Measure& law, const ConstMatrixRef& A, const Vector& centre) {
  double largest = 0;
  for (const TokenLeaf& leaf : law.token_leaves()) {
    const std::optional<double> one = reach(leaf, A, centre);
    if (!one) return std::nullopt;
    largest = std::max(largest, *one);
  }
  return largest;
}

// ‖x‖² = Σ x_k², so by Minkowski's inequality (E‖x‖⁴)^{1/2} <= Σ (E x_k⁴)^{1/2}, and likewise for ‖x‖⁸.
TiltedMoments tilted_moments(const Measure& law, const Vector& b, const Tilt& tilt, const ConstMatrixRef& A,
                             const Vector& centre) {
  if (const auto* prompt = dynamic_cast<const EmpiricalMeasure*>(&law))
    return sums_over(*prompt, b, A, centre);
  double fourth = 0, eighth = 0;
  for (Eigen::Index k = 0; k < A.rows(); ++k) {
    const TiltedMoments one = along(law, b, tilt, A.row(k).transpose(), centre);
    fourth += std::sqrt(one.fourth);
    eighth += std::pow(one.eighth, 0.25);
  }
  TiltedMoments moments{fourth * fourth, std::pow(eighth, 4)};
  // Bounded laws: ‖x‖⁴ <= R² ‖x‖². This serves where a tilt leaves next to nothing, and cosh is too crude.
  const std::optional<double> R = reach(law, A, centre);
  if (!R || A.isZero(0)) return moments;
  const double shift = (A * (tilt.mean - centre)).norm() + rounding_of_shift(A, tilt.mean, centre);
  const double second = (A * tilt.covariance * A.transpose()).trace() + shift * shift;
  moments.fourth = std::min(moments.fourth, *R * *R * second);
  moments.eighth = std::min(moments.eighth, std::pow(*R, 6) * second);
  return positive(moments);
}

}  // namespace largo::concentration
