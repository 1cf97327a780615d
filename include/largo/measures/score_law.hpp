// The law of a score u = <a, z>, together with the moments of the token z given its score. The statistics of
// a finite prompt need to know nothing else of a law.
//
// A score law is a finite mixture. Within a component u = centre + scale v, where v is a standard variable.
// Given v, the token has
//
//   mean        mean + slope v
//   covariance  (constant_part + round_part (1 - v²)) C,     C one of ScoreLaw::covariances,
//
// and is symmetric around its mean. Its fourth moments there are `fourth` times those of a Gaussian with this
// covariance, where they have this form.
//
// Gaussians, spheres, balls and elliptical laws at a given radius all have this form; a discrete law is a
// mixture of atoms. Scores of independent coordinates are convolutions. These do not have this form, unless
// they are discrete.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "largo/runtime/matrix.hpp"

namespace largo {

/// The law of the standard variable v.
///   atom      v = 0
///   gaussian  N(0, 1)
///   bounded   density ∝ (1 - v²)^{(order-3)/2} e^{rate v} on [-1, 1], order >= 2: a coordinate of the unit
///             sphere of R^order when rate = 0 (order 2 is the arcsine law, order 3 the uniform one)
enum class ScoreShape : std::uint8_t { atom, gaussian, bounded };

struct ScoreComponent {
  double weight = 1;
  ScoreShape shape = ScoreShape::atom;
  double centre = 0;
  double scale = 0;  ///< positive, except for an atom
  double order = 3;  ///< for bounded shapes only
  double rate = 0;   ///< for bounded shapes only
  Vector mean;
  Vector slope;                    ///< empty for an atom
  std::ptrdiff_t covariance = -1;  ///< index into ScoreLaw::covariances; -1: the covariance given v is zero
  double constant_part = 0;
  double round_part = 0;
  /// 1 for a Gaussian, m/(m + 2) for a sphere of R^m. Empty: the moments of third and fourth order given v
  /// are not of this form. Without a covariance it has no meaning.
  std::optional<double> fourth = {};

  /// log E e^u. Error: a few ulp of the larger of |centre| and the result.
  double log_partition() const;
  /// The mean of v when the law of u is tilted by e^u.
  double tilted_mean() const;
};

struct ScoreLaw {
  std::vector<ScoreComponent> components;  ///< positive weights that sum to one
  std::vector<Matrix> covariances;
  /// Whether the moments given v are known up to the fourth.
  bool has_fourth_moments() const;
  /// Relative error of results computed from the mixture, if it stands for a continuum of radii.
  double relative_error = 0;
};

}  // namespace largo
