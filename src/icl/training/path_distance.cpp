#include "icl/training/path_distance.hpp"

#include <algorithm>
#include <cmath>

#include "icl/prediction_distance.hpp"

namespace largo {

PathDistance path_distance(const RegressionProblem& problem, const TrainingRun& one, const TrainingRun& two) {
  const Eigen::Index d = problem.dimension();
  // A flow that ended where it is stationary stays there.
  const double ends[] = {one.path.end(), two.path.end()};
  const double horizon = one.stationary && two.stationary ? std::max(ends[0], ends[1])
                         : one.stationary                 ? ends[1]
                         : two.stationary                 ? ends[0]
                                                          : std::min(ends[0], ends[1]);
  const PredictionDistance predictions(problem);
  PathDistance distance;
  distance.parameters = largest_distance(one.path, two.path, horizon, [&](const Vector& x, const Vector& y) {
    const RegressionParameters p = to_parameters(one.map->map(x), d), q = to_parameters(two.map->map(y), d);
    return std::hypot((p.U - q.U).leftCols(d).norm(), (p.v - q.v).norm());
  });
  distance.predictions = largest_distance(one.path, two.path, horizon, [&](const Vector& x, const Vector& y) {
    return predictions(to_parameters(one.map->map(x), d), to_parameters(two.map->map(y), d));
  });
  return distance;
}

}  // namespace largo
