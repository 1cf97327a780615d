#include <cmath>

#include "icl/general_risk.hpp"
#include "icl/path_distance.hpp"
#include "icl/risk_statistics.hpp"
#include "largo/icl/parameter_maps.hpp"
#include "largo/icl/regression_training.hpp"
#include "largo/numerics/check.hpp"

namespace largo {

Estimate regression_risk(const RegressionProblem& problem, AttentionKind attention, double L,
                         const RegressionParameters& parameters, const TaskNodes& nodes,
                         const Execution& execution) {
  check(problem);
  check_length("regression_risk", L);
  const Eigen::Index d = problem.dimension();
  check_shape("regression_risk", "U", parameters.U.rows(), parameters.U.cols(), d + 1, d + 1);
  check_size("regression_risk", "v", parameters.v.size(), d + 1);
  const Vector values = to_vector(parameters);
  if (!is_invariant(parameters) && attention == AttentionKind::softmax && std::isfinite(L)) {
    return softmax_risk_estimate(problem, L, parameters, nodes, execution);
  }
  const RiskPoint point =
      is_invariant(parameters)
          ? invariant_risk(problem, attention, L)->at(invariant_map(d)->pull_back(values, values))
          : general_risk(problem, attention, L, nodes, execution)->at(values);
  return {point.value, point.error};
}

}  // namespace largo
