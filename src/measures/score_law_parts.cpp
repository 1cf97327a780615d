#include "measures/score_law_parts.hpp"

#include <cmath>
#include <utility>

#include "largo/runtime/check.hpp"

namespace largo::measures {
ScoreLaw constant_score(double score, Vector mean, Matrix covariance, double fourth) {
  ScoreComponent atom;
  atom.centre = score;
  atom.mean = std::move(mean);
  atom.covariance = 0;
  atom.constant_part = 1;
  atom.fourth = fourth;
  return {{std::move(atom)}, {std::move(covariance)}};
}

void add_round_component(ScoreLaw& law, double weight, const RoundBase& base, double centre, double s,
                         const Vector& mean, const Vector& slope) {
  ScoreComponent component;
  component.weight = weight;
  component.centre = centre;
  component.mean = mean;
  if (base.order == 1) {  // the sphere of R^1 is two points
    component.weight = weight / 2;
    for (const double sign : {-1.0, 1.0}) {
      component.centre = centre + sign * base.radius * s;
      component.mean = mean + sign * base.radius * slope;
      law.components.push_back(component);
    }
    return;
  }
  component.scale = base.radius * s;
  component.slope = base.radius * slope;
  component.covariance = 0;
  if (base.order == 0) {
    component.shape = ScoreShape::gaussian;
    component.constant_part = base.radius * base.radius;
    component.fourth = 1;
  } else {
    component.shape = ScoreShape::bounded;
    component.order = base.order;
    component.round_part = base.radius * base.radius / (base.order - 1);
    component.fourth = sphere_fourth(base.order - 1);
  }
  law.components.push_back(std::move(component));
}

ScoreLaw finite_law(ScoreLaw law) {
  bool good = true;
  for (const ScoreComponent& component : law.components) {
    good = good && std::isfinite(component.centre) && std::isfinite(component.scale) &&
           component.mean.allFinite() && component.slope.allFinite();
  }
  for (const Matrix& covariance : law.covariances) good = good && covariance.allFinite();
  if (!good) fail("score_law", "a score or a moment overflows float64: scale down the direction or the law");
  return law;
}

}  // namespace largo::measures
