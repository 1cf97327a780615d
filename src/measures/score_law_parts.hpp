// The parts from which laws build their score laws.
#pragma once

#include <cstddef>

#include "largo/measures/score_law.hpp"

namespace largo::measures {

/// The score law of a direction along which the score is constant: one atom, with the law's own mean and
/// covariance. `fourth` as in ScoreComponent.
ScoreLaw constant_score(double score, Vector mean, Matrix covariance, double fourth);

/// The fourth moments of a uniform vector on a sphere of R^n, over those of a Gaussian with its covariance.
inline double sphere_fourth(double n) { return n / (n + 2); }

/// A rotation-invariant vector x.
struct RoundBase {
  double order;   // uniform on a sphere of R^order; 0 for a Gaussian
  double radius;  // of the sphere; the standard deviation for a Gaussian
};

/// Appends the law of the score of z = mean + R x, one component (two atoms for order 1). With s = ‖Rᵀa‖,
/// `slope` is RRᵀa/s and covariance number 0 of the law must be RRᵀ - slope slopeᵀ.
void add_round_component(ScoreLaw& law, double weight, const RoundBase& base, double centre, double s,
                         const Vector& mean, const Vector& slope);

/// The largest number of components of a score law; beyond it, prompts have to be sampled.
inline constexpr std::size_t kMostScoreComponents = std::size_t{1} << 16;

/// Returns the law, or throws InputError when a number in it is not finite.
ScoreLaw finite_law(ScoreLaw law);

}  // namespace largo::measures
