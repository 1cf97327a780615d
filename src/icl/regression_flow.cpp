#include "largo/icl/regression_flow.hpp"

#include <cmath>
#include <limits>
#include <utility>

#include "icl/natural_units.hpp"
#include "largo/icl/invariant_risk.hpp"
#include "largo/runtime/check.hpp"
#include "numerics/factor.hpp"

namespace largo {
namespace {

constexpr Eigen::Index kMostDense = 128;
constexpr double kLeftAtAnEnd = 1e-12;  // relative to the risk of predicting zero

Vector to_vector(const InvariantPoint& point) {
  Vector values(point.A.size() + 1);
  values << point.A.reshaped(), point.b;
  return values;
}

InvariantPoint to_point(const ConstVectorRef& values, Eigen::Index d) {
  return {values.head(d * d).reshaped(d, d), values[d * d]};
}

// How far the risk may still fall. Where Σ has some variance, but little, A moves so slowly that a flow seems
// to be at its end long before it is. The estimate uses the gradient G and the curvature of linear
// attention's risk along single entries of A in the axes of Σ. An entry gains at most what its part of <w,
// x_q> is worth.
double left_to_gain(const RegressionProblem& problem, const LengthLaw& L, const InvariantPoint& at,
                    const Matrix& G) {
  const numerics::SymmetricEigenvalues parts = numerics::symmetric_eigenvalues(problem.covariance);
  const Eigen::Index d = problem.dimension();
  const double largest = parts.values[d - 1];
  // The variances of a matrix that is not diagonal have rounding errors of this size.
  const double rounding =
      problem.covariance.isDiagonal(0) ? 0 : std::numeric_limits<double>::epsilon() * static_cast<double>(d);
  const Matrix axes = parts.vectors, slopes = axes.transpose() * G * axes, A = axes.transpose() * at.A * axes;
  const Vector tasks = (axes.transpose() * problem.prior_covariance * axes).diagonal();
  const Vector queries = (axes.transpose() * problem.query_covariance * axes).diagonal();
  const double label = (problem.covariance * problem.prior_covariance).trace() + problem.noise_variance;
  double sum = 0;
  for (Eigen::Index i = 0; i < d; ++i) {
    if (!(parts.values[i] > rounding * largest)) continue;
    for (Eigen::Index j = 0; j < d; ++j) {
      const double slope = slopes(i, j), worth = 0.5 * tasks[i] * queries[j];
      if (slope == 0 || !(worth > 0)) continue;
      const double change = problem.score_scale * at.b * parts.values[i];  // of a prediction, with A_ij
      const double wrong = change * A(i, j) - (i == j ? 1 : 0), most = worth * (1 + wrong * wrong);
      const double curvature =
          change * change * queries[j] * (tasks[i] + label / (L.harmonic_mean() * parts.values[i]));
      sum += slope * slope < 2 * most * curvature ? slope * slope / (2 * curvature) : most;
    }
  }
  return sum;
}

}  // namespace

RegressionFlow regression_flow(const RegressionProblem& problem, AttentionKind attention, const LengthLaw& L,
                               const InvariantPoint& start, const FlowPlan& plan,
                               const Execution& execution) {
  RegressionFlow result;
  result.L = L;
  result.attention = attention;
  result.map = flow_parameters(problem, start);
  const Eigen::Index d = problem.dimension();
  FlowPlan given = plan;
  given.conserved.push_back(
      {"balance", [&](const Vector& values) { return to_point(result.map->map(values), d).balance(); }});
  const icl::NaturalUnits units(problem);
  FlowPlan natural = units.to_natural(given);
  const auto risk = in_parameters(invariant_risk(units.problem(), attention, L), result.map);
  // Jacobians of hundreds of parameters cost more than they save.
  if (risk->size() > kMostDense) natural.method = FlowMethod::krylov;
  if (natural.risk_scale == 0) natural.risk_scale = units.problem().null_risk();
  // The maps are isometric, so pulling back is the inverse on their range.
  const Vector first = to_vector(start) / units.parameters();
  FlowResult flow = gradient_flow(*risk, result.map->pull_back(first, first), natural, execution);
  if (std::isinf(plan.end)) {
    const Vector last = result.map->map(flow.trajectory.points().back().parameters);
    const Vector slope = invariant_risk(units.problem(), attention, L)->at(last).gradient;
    const double left = left_to_gain(units.problem(), L, to_point(last, d), slope.head(d * d).reshaped(d, d));
    result.unfinished = units.risk() * left;
    flow.flat = left > kLeftAtAnEnd * units.problem().null_risk();
    flow.stationary = !flow.flat;
    if (flow.flat) flow.to_go.reset();
  }
  result.flow = units.to_given(std::move(flow));
  result.last = to_point(result.map->map(result.flow.trajectory.points().back().parameters), d);
  return result;
}

FlowDistance flow_distance(const RegressionProblem& problem, const RegressionFlow& one,
                           const RegressionFlow& two, double horizon) {
  if (one.map == nullptr || two.map == nullptr) fail("flow_distance", "a flow has no map to (A, b)");
  const Eigen::Index d = problem.dimension();
  check_size("flow_distance", "parameters of the first flow", one.map->mapped_size(), d * d + 1);
  check_size("flow_distance", "parameters of the second flow", two.map->mapped_size(), d * d + 1);
  const Trajectory &first = one.flow.trajectory, &second = two.flow.trajectory;
  const auto first_risk = invariant_risk(problem, one.attention, one.L);
  const auto risk_one = in_parameters(first_risk, one.map);
  const auto risk_two = in_parameters(invariant_risk(problem, two.attention, two.L), two.map);
  FlowDistance distance;
  // Flows from different starts may have different maps, so they are compared in (A, b).
  distance.parameters = largest_distance(first, second, horizon, [&](const Vector& x, const Vector& y) {
    return (one.map->map(x) - two.map->map(y)).norm();
  });
  distance.risks = largest_distance(first, second, horizon, [&](const Vector& x, const Vector& y) {
    return std::abs(risk_one->at(x).value - risk_two->at(y).value);
  });
  distance.predictions = largest_distance(first, second, horizon, [&](const Vector& x, const Vector& y) {
    const InvariantPoint p = to_point(one.map->map(x), d), q = to_point(two.map->map(y), d);
    const Matrix map = problem.score_scale * problem.covariance * (p.b * p.A - q.b * q.A);
    const Matrix spread = map * problem.query_covariance * map.transpose();
    return std::sqrt(std::max((spread * problem.prior_covariance).trace(), 0.0));
  });
  const auto risk_one_there = in_parameters(first_risk, two.map);
  distance.gradients = largest_distance(second, second, horizon, [&](const Vector& y, const Vector&) {
    return (risk_one_there->at(y).gradient - risk_two->at(y).gradient).norm();
  });
  return distance;
}

}  // namespace largo
