#include "largo/icl/single_location_training.hpp"

#include <boost/math/tools/toms748_solve.hpp>
#include <cmath>
#include <cstdint>

#include <fmt/format.h>

#include "exact/needle_sums.hpp"
#include "largo/exact/softmax_moments.hpp"
#include "largo/runtime/check.hpp"

namespace largo {
namespace {

constexpr double kLargestWhole = 9007199254740992;
constexpr int kRootDigits = 50;

SingleLocationBest best_at(SingleLocation problem) {
  problem.noise_variance = 0;  // it only adds ½ τ²
  return best_single_location(problem);
}

// The largest or smallest x between low and high, at which the excess is ε, for an excess that is at most ε
// at `within`, one of the two ends.
template <typename Excess>
double crossing(const Excess& excess, double low, double high, bool within_low, double epsilon) {
  const auto f = [&](double x) { return excess(x) - epsilon; };
  std::uintmax_t steps = 100;
  const auto [from, to] = boost::math::tools::toms748_solve(
      f, low, high, boost::math::tools::eps_tolerance<double>(kRootDigits), steps);
  return within_low ? from : to;
}

}  // namespace

SingleLocationFlow single_location_flow(const SingleLocation& problem, double a, double b,
                                        const FlowPlan& plan, const Execution& execution) {
  const auto risk = planar_single_location_risk(problem);
  SingleLocationFlow found;
  found.flow = gradient_flow(*risk, Eigen::Vector2d(a, b), plan, execution);
  const Vector last = found.flow.trajectory.points().back().parameters;
  SingleLocation noiseless = problem;
  noiseless.noise_variance = 0;
  const RiskPoint point = planar_single_location_risk(noiseless)->at(last);
  found.last = {last[0], last[1], {point.value, point.error}, {}};
  if (std::isfinite(problem.L)) found.last.needle_weight = best_value_scale(problem, last[0]).needle_weight;
  return found;
}

SingleLocationThreshold longest_prompt(const SingleLocation& given, double epsilon) {
  constexpr auto kFunction = "longest_prompt";
  check_positive(kFunction, "epsilon", epsilon);
  SingleLocation problem = given;
  const auto excess = [&](double log_L) {
    problem.L = std::exp(log_L);
    return best_at(problem).excess.value;
  };
  const double low = std::log(2.0), high = std::log(kLargestL);
  problem.L = 2;
  check(problem);
  const double at_two = best_at(problem).excess.value;
  if (!(at_two <= epsilon)) {
    fail(kFunction,
         fmt::format("epsilon is {:g}, but two tokens already cost {:.6g} at this signal", epsilon, at_two));
  }
  problem.L = kLargestL;
  if (best_at(problem).excess.value <= epsilon)
    fail(kFunction, fmt::format("the excess risk is at most {:g} up to L = 1e300", epsilon));
  problem.L = std::exp(crossing(excess, low * (1 + 1e-15), high * (1 - 1e-15), true, epsilon));
  if (problem.L < kLargestWhole) {
    // The end of the search is known to the last bits only.
    problem.L = std::max(2.0, std::round(problem.L));
    while (problem.L > 2 && best_at(problem).excess.value > epsilon) problem.L -= 1;
  }
  return {problem, best_at(problem)};
}

SingleLocationThreshold weakest_signal(const SingleLocation& given, double epsilon) {
  constexpr auto kFunction = "weakest_signal";
  check_positive(kFunction, "epsilon", epsilon);
  SingleLocation problem = given;
  const auto excess = [&](double signal) {
    problem.signal = signal;
    return best_at(problem).excess.value;
  };
  problem.signal = 0;
  check(problem);
  if (best_at(problem).excess.value <= epsilon) return {problem, best_at(problem)};
  if (excess(kLargestNeedleSignal) > epsilon)
    fail(kFunction, "epsilon", epsilon, "reached by a signal of at most 50");
  problem.signal = crossing(excess, 0, kLargestNeedleSignal, false, epsilon);
  return {problem, best_at(problem)};
}

}  // namespace largo
