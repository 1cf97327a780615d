#include "icl/standard_coordinates.hpp"

#include "largo/runtime/check.hpp"
#include "numerics/factor.hpp"

namespace largo::icl {

StandardCoordinates::StandardCoordinates(const RegressionProblem& problem)
    : d_(problem.dimension()),
      scale_(problem.score_scale),
      noise_(problem.noise_variance),
      tokens_(numerics::covariance_root("general_risk", "covariance", problem.covariance).root),
      queries_(numerics::covariance_root("general_risk", "query_covariance", problem.query_covariance).root),
      tasks_(numerics::covariance_root("general_risk", "prior_covariance", problem.prior_covariance).root) {}

StandardParameters StandardCoordinates::from(const ConstVectorRef& parameters) const {
  check_size("general_risk", "parameters", parameters.size(), size());
  check_finite("general_risk", "parameters", parameters);
  const RegressionParameters given = to_parameters(parameters, d_);
  StandardParameters standard;
  standard.hidden = scale_ * tokens_.transpose() * given.U.topLeftCorner(d_, d_) * queries_;
  standard.label = scale_ * queries_.transpose() * given.U.row(d_).head(d_).transpose();
  standard.v_hat = tokens_.transpose() * given.v.head(d_);
  standard.v_y = given.v[d_];
  return standard;
}

Vector StandardCoordinates::gradient(const StandardParameters& slope) const {
  RegressionParameters pulled{Matrix::Zero(d_ + 1, d_ + 1), Vector(d_ + 1)};
  pulled.U.topLeftCorner(d_, d_) = scale_ * tokens_ * slope.hidden * queries_.transpose();
  pulled.U.row(d_).head(d_) = scale_ * (queries_ * slope.label).transpose();
  pulled.v << tokens_ * slope.v_hat, slope.v_y;
  return to_vector(pulled);
}

}  // namespace largo::icl
