#include "icl/prediction_distance.hpp"

#include <algorithm>
#include <cmath>

#include "icl/polynomial_risk.hpp"
#include "largo/icl/regression_risk.hpp"
#include "numerics/factor.hpp"

namespace largo::icl {

PredictionDistance::PredictionDistance(const RegressionProblem& problem)
    : problem_(problem),
      prior_root_(
          numerics::covariance_root("prediction_distance", "prior_covariance", problem.prior_covariance)
              .root) {}

double PredictionDistance::operator()(const RegressionParameters& one,
                                      const RegressionParameters& two) const {
  const Eigen::Index d = problem_.dimension();
  if (is_invariant(one) && is_invariant(two)) {
    const Matrix map = problem_.covariance * (one.v[d] * one.U - two.v[d] * two.U).topLeftCorner(d, d);
    const double trace =
        (map * problem_.query_covariance * map.transpose() * problem_.prior_covariance).trace();
    return std::abs(problem_.score_scale) * std::sqrt(std::max(trace, 0.0));
  }
  double square = 0;
  visit_degree_five(prior_root_.cols(), [&](const Vector& omega, double weight) {
    const Vector w = prior_root_ * omega;
    const auto predictor = [&](const RegressionParameters& at) {
      return Vector(at.U.leftCols(d).transpose() *
                    token_covariance_product(problem_.covariance, problem_.noise_variance, w, at.v));
    };
    const Vector difference = predictor(one) - predictor(two);
    square += weight * difference.dot(problem_.query_covariance * difference);
  });
  return std::abs(problem_.score_scale) * std::sqrt(std::max(square, 0.0));
}

}  // namespace largo::icl
