#include "icl/path_distance.hpp"

#include <algorithm>
#include <cmath>

#include "icl/polynomial_risk.hpp"
#include "largo/numerics/factor.hpp"

namespace largo {
namespace {

Matrix prior_root(const RegressionProblem& problem) {
  return covariance_root("prediction_distance", "prior_covariance", problem.prior_covariance).root;
}

double distance_of_predictions(const RegressionProblem& problem, const Matrix& root,
                               const RegressionParameters& one, const RegressionParameters& two) {
  const Eigen::Index d = problem.dimension();
  if (is_invariant(one) && is_invariant(two)) {
    const Matrix map = problem.covariance * (one.v[d] * one.U - two.v[d] * two.U).topLeftCorner(d, d);
    const double trace =
        (map * problem.query_covariance * map.transpose() * problem.prior_covariance).trace();
    return std::abs(problem.score_scale) * std::sqrt(std::max(trace, 0.0));
  }
  double square = 0;
  visit_degree_five(root.cols(), [&](const Vector& omega, double weight) {
    const Vector w = root * omega;
    const auto predictor = [&](const RegressionParameters& at) {
      return Vector(at.U.leftCols(d).transpose() *
                    token_covariance_product(problem.covariance, problem.noise, w, at.v));
    };
    const Vector difference = predictor(one) - predictor(two);
    square += weight * difference.dot(problem.query_covariance * difference);
  });
  return std::abs(problem.score_scale) * std::sqrt(std::max(square, 0.0));
}

}  // namespace

bool is_invariant(const RegressionParameters& parameters) {
  const Eigen::Index d = parameters.v.size() - 1;
  return parameters.U.row(d).head(d).isZero(0) && parameters.v.head(d).isZero(0);
}

double prediction_distance(const RegressionProblem& problem, const RegressionParameters& one,
                           const RegressionParameters& two) {
  return distance_of_predictions(problem, prior_root(problem), one, two);
}

PathDistance path_distance(const RegressionProblem& problem, const TrainingRun& one, const TrainingRun& two) {
  const Eigen::Index d = problem.dimension();
  // A flow that ended where it is stationary stays there.
  const double ends[] = {one.path.end(), two.path.end()};
  const double horizon = one.stationary && two.stationary ? std::max(ends[0], ends[1])
                         : one.stationary                 ? ends[1]
                         : two.stationary                 ? ends[0]
                                                          : std::min(ends[0], ends[1]);
  const Matrix root = prior_root(problem);
  PathDistance distance;
  distance.parameters = largest_distance(one.path, two.path, horizon, [&](const Vector& x, const Vector& y) {
    const RegressionParameters p = to_parameters(one.map->map(x), d), q = to_parameters(two.map->map(y), d);
    return std::hypot((p.U - q.U).leftCols(d).norm(), (p.v - q.v).norm());
  });
  distance.predictions = largest_distance(one.path, two.path, horizon, [&](const Vector& x, const Vector& y) {
    return distance_of_predictions(problem, root, to_parameters(one.map->map(x), d),
                                   to_parameters(two.map->map(y), d));
  });
  return distance;
}

}  // namespace largo
