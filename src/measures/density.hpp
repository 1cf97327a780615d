// Densities, for laws that have one: posteriors need them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "largo/measures/coordinate_law.hpp"
#include "largo/measures/measure.hpp"

namespace largo::measures {

/// What the logarithm of a density is outside the support of a piece: -∞, or its value at the edge minus a
/// multiple of the distance in half-widths of the piece: ten, or twice the rate, if that is more. The latter
/// is no density, but leads a search back inside.
enum class Edges : std::uint8_t { sharp, soft };

/// The density of a real variable: a mixture of Gaussians and of intervals with density ∝ e^{rate v}.
class ScalarDensity {
 public:
  /// None if some piece has another shape.
  static std::optional<ScalarDensity> of(const std::vector<ScoreComponent>& pieces);

  /// y = log f(x). x and y may be the same array.
  void log(std::span<const double> x, std::span<double> y, Edges edges) const;

 private:
  struct Piece {
    double log_height = 0;  // of weight × density, at v = 0
    double centre = 0, scale = 1, rate = 0;
    bool is_gaussian = true;
  };
  std::vector<Piece> pieces_;
};

/// The density of a law on R^d: a mixture of invertible images of Gaussians and of independent coordinates.
class LawDensity {
 public:
  /// None if the law is not known to be one of these.
  static std::optional<LawDensity> of(const Measure& law);

  /// log f at each column of a d x n matrix.
  Vector log(const ConstMatrixRef& points, Edges edges) const;

  /// The mean of each part of the mixture, and a root of its covariance.
  struct Moments {
    Vector mean;
    Matrix root;
  };
  const std::vector<Moments>& moments() const { return moments_; }

 private:
  struct Part {
    double log_weight = 0;  // of the part, minus log |det map|
    Matrix inverse;         // of the map
    Vector offset;
    std::vector<ScalarDensity> coordinates;  // none: a standard Gaussian
  };
  std::vector<Part> parts_;
  std::vector<Moments> moments_;
};

/// The points of a law that has finitely many.
struct FinitePoints {
  Matrix points;  ///< d x n
  Vector probabilities;
};
/// None if the law is not known to be a mixture of fixed values and of images of independent discrete
/// coordinates, or has more than `most` points.
std::optional<FinitePoints> finite_points(const Measure& law, std::size_t most);

}  // namespace largo::measures
