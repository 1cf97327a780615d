#include "largo/icl/regression_risk.hpp"

#include <cmath>

#include "icl/risk_statistics.hpp"
#include "largo/icl/exact_risk.hpp"
#include "largo/icl/invariant_risk.hpp"
#include "largo/icl/regression_maps.hpp"
#include "largo/runtime/check.hpp"

namespace largo {
namespace {

constexpr double kWellKnown = 1e-6;  // relative error

}  // namespace

bool is_invariant(const RegressionParameters& parameters) {
  const Eigen::Index d = parameters.v.size() - 1;
  return parameters.U.row(d).head(d).isZero(0) && parameters.v.head(d).isZero(0);
}

Estimate regression_risk(const RegressionProblem& problem, AttentionKind attention, const LengthLaw& L,
                         const RegressionParameters& parameters, const TaskNodes& nodes,
                         const Execution& execution) {
  check(problem);
  const Eigen::Index d = problem.dimension();
  check_shape("regression_risk", "U", parameters.U.rows(), parameters.U.cols(), d + 1, d + 1);
  check_size("regression_risk", "v", parameters.v.size(), d + 1);
  const Vector values = to_vector(parameters);
  if (!is_invariant(parameters) && attention == AttentionKind::softmax && !L.is_infinite()) {
    return d <= kMostExactDimension ? exact_risk(problem, L, parameters, execution)
                                    : softmax_risk_estimate(problem, L, parameters, nodes, execution);
  }
  const RiskPoint point =
      is_invariant(parameters)
          ? invariant_risk(problem, attention, L)->at(invariant_map(d)->pull_back(values, values))
          : general_risk(problem, attention, L, nodes, execution)->at(values);
  // With large scores R_∞ and the rest cancel on the invariant set, but not in exact_risk().
  if (point.error > kWellKnown * point.value && attention == AttentionKind::softmax && !L.is_infinite() &&
      d <= kMostExactDimension && !problem.has_sink()) {
    const Estimate better = exact_risk(problem, L, parameters, execution);
    if (better.error < point.error) return better;
  }
  return {point.value, point.error};
}

}  // namespace largo
