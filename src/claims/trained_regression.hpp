// What the claims about training on the exact risks of in-context regression share.
#pragma once

#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "largo/icl/invariant_set.hpp"
#include "largo/report/figure.hpp"
#include "largo/training/trajectory.hpp"
#include "runtime/parallel.hpp"

namespace largo::claims {

/// Limit for the relative difference of a ratio from its limit as L grows.
inline constexpr double kRatioTolerance = 0.01;
inline constexpr Eigen::Index kUsualDimension = 5;

/// The paper's problem with Σ = I in five dimensions.
RegressionProblem round_problem();

/// The paper's problem with these variances of the covariates, and label noise of variance τ².
RegressionProblem diagonal_problem(const Vector& variances, double noise_variance);

/// The paper's start with Θ = I and half of the largest admissible α.
InvariantPoint usual_start(const RegressionProblem& problem);

/// (A, b) as the parameters of invariant_risk().
Vector parameters_of(const InvariantPoint& point);

/// lim L R_L of long prompts after training, for Ω = I, Σ_q = Σ and scores of scale one. On the zero-risk set
/// of the infinite prompt, bΣA = I, it is with t = 1/b², T = tr Σ and m = d/2 + 1
///
///   ½ (1 - 2t)^{-m} (T + (T + τ²)(1 - 2t)/t),   and training goes where it is least (docs/icl.md).
double trained_constant(const RegressionProblem& problem);

/// The same for linear attention: ½ (T + (T + τ²) d), everywhere on that set.
double trained_linear_constant(const RegressionProblem& problem);

/// make(item, execution) for each item, side by side: flows run on one thread each. Results are in the order
/// of the items.
template <typename Item, typename Make>
auto side_by_side(const std::vector<Item>& items, const Execution& execution, const Make& make) {
  Execution of_one = execution;
  of_one.threads = 1;
  of_one.ranks = nullptr;
  std::vector<std::decay_t<decltype(make(items.front(), of_one))>> results(items.size());
  runtime::parallel_for(static_cast<std::ptrdiff_t>(items.size()), execution, [&](std::ptrdiff_t i) {
    const auto at = static_cast<std::size_t>(i);
    results[at] = make(items[at], of_one);
  });
  return results;
}

/// A path in time, reduced to points that can be told apart on a logarithmic axis.
template <typename Height>
Curve path_curve(std::string label, int color, const Trajectory& path, double from, const Height& height) {
  constexpr double kApart = 1.05;
  Curve curve{.label = std::move(label), .color = color};
  for (const TrajectoryPoint& point : path.points()) {
    const double y = height(point);
    if (point.time < (curve.x.empty() ? from : kApart * curve.x.back()) || !(y > 0)) continue;
    curve.add(point.time, y);
  }
  return curve;
}

}  // namespace largo::claims
