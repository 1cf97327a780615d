#include "largo/measures/measure.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "largo/measures/score_law.hpp"
#include "largo/runtime/check.hpp"
#include "numerics/sphere_functions.hpp"
#include "runtime/distribute.hpp"

namespace largo {
namespace {

// Central differences of order 8 at offsets h, 2h, 3h, 4h.
constexpr std::array kFirstDifference = {4.0 / 5, -1.0 / 5, 4.0 / 105, -1.0 / 280};
constexpr std::array kSecondDifference = {8.0 / 5, -1.0 / 5, 8.0 / 315, -1.0 / 560};
constexpr double kSecondDifferenceCentre = -205.0 / 72;
// The truncation error is O(step^8) and rounding O(eps/step²), in units of the law's own length scale.
constexpr double kRelativeStep = 0.02;

struct LineDerivatives {
  double first;
  double second;
};

LineDerivatives derivatives_along(const Measure& law, const ConstVectorRef& at, const Vector& along,
                                  double centre_value, double step) {
  LineDerivatives result{0, kSecondDifferenceCentre * centre_value};
  for (std::size_t k = 0; k < kFirstDifference.size(); ++k) {
    const double offset = step * static_cast<double>(k + 1);
    const double above = law.log_partition(at + offset * along);
    const double below = law.log_partition(at - offset * along);
    result.first += kFirstDifference[k] * (above - below);
    result.second += kSecondDifference[k] * (above + below);
  }
  return {result.first / step, result.second / (step * step)};
}

}  // namespace

// The largest standard deviation along an axis, by a coarse second difference at zero; 1 for a point mass.
// The probe adapts to the law: where Λ(h) + Λ(-h) is small but not lost in rounding, it is h² times the
// variance.
double Measure::length_scale() const {
  constexpr double kSmall = 1e-4;
  constexpr double kLarge = 1e-2;
  constexpr double kRounding = 1e-12;
  constexpr double kFarthest = 1e150;  // its square is finite
  constexpr int kMostSteps = 100;      // for a law that jumps from 0 to infinity the search would never end
  double probe = 1;
  for (int step = 0; step < kMostSteps && probe < kFarthest && probe > 1 / kFarthest; ++step) {
    double sum = 0;
    for (std::ptrdiff_t i = 0; i < dimension_; ++i) {
      const Vector offset = probe * Vector::Unit(dimension_, i);
      sum = std::max(sum, log_partition(offset) + log_partition(-offset));
    }
    if (sum >= kSmall && sum <= kLarge) return std::sqrt(sum) / probe;
    if (sum <= kRounding) {
      probe *= 1e3;
    } else if (std::isinf(sum)) {
      probe *= 1e-3;
    } else {
      // Right at once if Λ is quadratic; from far out, where Λ is linear, half the way in the logarithm.
      probe *= std::sqrt(std::sqrt(kSmall * kLarge) / sum);
    }
  }
  return 1;
}

Measure::Measure(std::ptrdiff_t dimension) : dimension_(dimension) {
  if (dimension < 1) fail("Measure", "dimension", static_cast<double>(dimension), "at least 1");
}

void Measure::check_direction(const ConstVectorRef& direction) const {
  check_size("tilt", "direction", direction.size(), dimension_);
  check_finite("tilt", "direction", direction);
}

Tilt Measure::finite(Tilt tilt) const {
  if (!std::isfinite(tilt.log_partition) || !tilt.mean.allFinite() || !tilt.covariance.allFinite()) {
    fail("tilt", "the tilt along this direction overflows float64: scale down the direction or the law");
  }
  return tilt;
}

void Measure::check_pairs(const ConstMatrixRef& directions, const ConstMatrixRef& vectors) const {
  constexpr auto kFunction = "tilted_covariance_products";
  check_size(kFunction, "each direction", directions.rows(), dimension_);
  check_shape(kFunction, "vectors", vectors.rows(), vectors.cols(), dimension_, directions.cols());
  check_finite(kFunction, "directions", directions);
  check_finite(kFunction, "vectors", vectors);
}

Tilt Measure::tilt(const ConstVectorRef& direction, TiltOrder order) const {
  check_direction(direction);
  const std::ptrdiff_t d = dimension_;
  Tilt result;
  result.log_partition = log_partition(direction);
  if (!std::isfinite(result.log_partition)) {
    constexpr std::ptrdiff_t kShown = 8;
    const Vector head = direction.head(std::min(d, kShown));
    fail("tilt",
         fmt::format("log-partition of a user-defined law at ({:g}{})",
                     fmt::join(head.begin(), head.end(), ", "), d > kShown ? ", …" : ""),
         result.log_partition, "finite");
  }
  if (order == TiltOrder::log_partition) return result;

  const double step = kRelativeStep / length_scale();
  result.mean.resize(d);
  if (order == TiltOrder::covariance) result.covariance.resize(d, d);
  for (std::ptrdiff_t i = 0; i < d; ++i) {
    const auto along_axis =
        derivatives_along(*this, direction, Vector::Unit(d, i), result.log_partition, step);
    result.mean[i] = along_axis.first;
    if (order == TiltOrder::covariance) result.covariance(i, i) = along_axis.second;
  }
  if (order == TiltOrder::covariance) {
    // Polarisation: the second derivative along (e_i + e_j)/√2 is (C_ii + C_jj)/2 + C_ij.
    for (std::ptrdiff_t i = 0; i < d; ++i) {
      for (std::ptrdiff_t j = 0; j < i; ++j) {
        const Vector diagonal = (Vector::Unit(d, i) + Vector::Unit(d, j)) / std::sqrt(2.0);
        const double second =
            derivatives_along(*this, direction, diagonal, result.log_partition, step).second;
        result.covariance(i, j) = second - (result.covariance(i, i) + result.covariance(j, j)) / 2;
        result.covariance(j, i) = result.covariance(i, j);
      }
    }
  }
  // Λ is finite at the direction itself, but the differences reach beyond it.
  check_finite("tilt", "mean of a user-defined law", result.mean);
  check_finite("tilt", "covariance of a user-defined law", result.covariance);
  return result;
}

std::vector<Tilt> Measure::tilts(const ConstMatrixRef& directions, TiltOrder order,
                                 const Execution& execution) const {
  check_size("tilts", "each direction", directions.rows(), dimension_);
  std::vector<Tilt> results(static_cast<std::size_t>(directions.cols()));
  runtime::parallel_for(directions.cols(), execution, [&](std::ptrdiff_t q) {
    runtime::check_stop(execution);
    results[static_cast<std::size_t>(q)] = tilt(directions.col(q), order);
  });
  return results;
}

Matrix Measure::tilted_covariance_products(const ConstMatrixRef& directions, const ConstMatrixRef& vectors,
                                           const Execution& execution) const {
  check_pairs(directions, vectors);
  // A few at a time: each has a d x d matrix.
  constexpr std::ptrdiff_t kTogether = 64;
  Matrix products(dimension_, directions.cols());
  for (std::ptrdiff_t first = 0; first < directions.cols(); first += kTogether) {
    const std::ptrdiff_t count = std::min(kTogether, directions.cols() - first);
    const std::vector<Tilt> some =
        tilts(directions.middleCols(first, count), TiltOrder::covariance, execution);
    for (std::ptrdiff_t q = 0; q < count; ++q) {
      products.col(first + q).noalias() =
          some[static_cast<std::size_t>(q)].covariance * vectors.col(first + q);
    }
  }
  return products;
}

Vector Measure::mean() const { return tilt(Vector::Zero(dimension_), TiltOrder::mean).mean; }

Matrix Measure::covariance() const {
  return tilt(Vector::Zero(dimension_), TiltOrder::covariance).covariance;
}

void Measure::sample(const Stream&, std::uint64_t, Eigen::Ref<RowMatrix>) const {
  fail("sample", "this law has no sampler: override Measure::sample");
}

ScoreLaw Measure::score_law(const ConstVectorRef&) const {
  fail(
      "score_law",
      "the score of this law has no known distribution (Gaussian, sphere, ball, elliptical and discrete laws "
      "have one, and their images and mixtures): sample prompts instead");
}

RowMatrix sample_prompt(const Measure& law, const Stream& stream, std::int64_t length,
                        const Execution& execution) {
  constexpr std::int64_t kTogether = std::int64_t{1} << 14;
  if (length < 1) fail("sample_prompt", "length", static_cast<double>(length), "at least 1");
  RowMatrix tokens(length, law.dimension());
  runtime::parallel_for((length + kTogether - 1) / kTogether, execution, [&](std::ptrdiff_t piece) {
    runtime::check_stop(execution);
    const std::int64_t first = piece * kTogether;
    law.sample(stream, static_cast<std::uint64_t>(first),
               tokens.middleRows(first, std::min(kTogether, length - first)));
  });
  return tokens;
}

bool ScoreLaw::has_fourth_moments() const {
  return std::all_of(components.begin(), components.end(), [](const ScoreComponent& component) {
    return component.covariance < 0 || component.fourth.has_value();
  });
}

double ScoreComponent::log_partition() const {
  switch (shape) {
    case ScoreShape::atom: return centre;
    case ScoreShape::gaussian: return centre + scale * scale / 2;
    case ScoreShape::bounded: break;
  }
  const double untilted = rate != 0 ? numerics::sphere_tilt(order, std::abs(rate)).value : 0;
  return centre + (numerics::sphere_tilt(order, std::abs(scale + rate)).value - untilted);
}

double ScoreComponent::tilted_mean() const {
  switch (shape) {
    case ScoreShape::atom: return 0;
    case ScoreShape::gaussian: return scale;
    case ScoreShape::bounded: break;
  }
  return std::copysign(numerics::sphere_tilt(order, std::abs(scale + rate)).derivative, scale + rate);
}

}  // namespace largo
