// The claim about training on infinite prompts: where the flow ends, from the paper's starts and from larger
// ones.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "claims/claims.hpp"
#include "claims/trained_regression.hpp"
#include "largo/icl/regression_flow.hpp"
#include "largo/random/streams.hpp"
#include "numerics/factor.hpp"

namespace largo::claims {
namespace {

constexpr double kLimitTolerance = 1e-6;
constexpr double kControlLength = 1e3;  // of the second negative control

// Ranges of α, in units of an end of the paper's interval, or of the one that does not depend on the units of
// the data.
struct StartRange {
  const char* name;
  double first, last;    // of α over that end
  bool of_paper = true;  // the end √2/(d^{1/4} ‖Σ‖), else √2/(d^{1/4} ‖Σ‖^{1/2})
};
constexpr std::array kRanges = {
    StartRange{"inside the paper's interval", 0.05, 0.95},
    StartRange{"at its lower end", 1e-4, 1e-3},
    StartRange{"at its upper end", 0.99, 0.9999},
    StartRange{"beyond both intervals", 2, 100, false},
};

// A covariance of this norm and condition in a random basis.
Matrix random_covariance(Eigen::Index d, double norm, double condition, const Stream& stream) {
  Matrix normals(d, d);
  stream.normals(0, {normals.data(), static_cast<std::size_t>(normals.size())});
  const Matrix basis = numerics::singular_values(normals).right;
  Vector values(d);
  for (Eigen::Index j = 0; j < d; ++j) {
    const double share = static_cast<double>(j) / static_cast<double>(std::max<Eigen::Index>(1, d - 1));
    values[j] = norm * std::pow(condition, -share);
  }
  const Matrix S = basis * values.asDiagonal() * basis.transpose();
  return 0.5 * (S + S.transpose());
}

struct RandomStart {
  RegressionProblem problem;
  InvariantPoint start;
  double norm = 0, condition = 0;
  Eigen::Index rank = 0;
};

RandomStart random_start(const StartRange& range, const Stream& stream) {
  double uniforms[5];
  stream.substream(0).uniforms(0, uniforms);
  const auto d = static_cast<Eigen::Index>(2 + std::floor(9 * uniforms[0]));
  RandomStart random{.problem = {},
                     .start = {},
                     .norm = std::pow(10, 2 * uniforms[3] - 1),
                     .condition = std::pow(100, uniforms[1]),
                     .rank = 1 + static_cast<Eigen::Index>(static_cast<double>(d) * uniforms[4])};
  random.problem = paper_problem(random_covariance(d, random.norm, random.condition, stream.substream(1)));
  Matrix theta(d, random.rank);
  stream.substream(2).normals(0, {theta.data(), static_cast<std::size_t>(theta.size())});
  double end = largest_admissible_alpha(random.problem);
  if (!range.of_paper) end *= std::max(1.0, std::sqrt(random.norm));  // beyond the larger of the two
  random.start =
      paper_start(random.problem, end * range.first * std::pow(range.last / range.first, uniforms[2]), theta);
  return random;
}

// The limit of the theorem; the negative control has a power of tr(Σ⁻²) that is as good for the risk, but not
// what the flow's balance allows.
InvariantPoint theorem_limit(const RegressionProblem& problem, int control) {
  const Matrix inverse = problem.covariance.inverse();
  const double b = std::pow(inverse.squaredNorm(), control == 1 ? 0.5 : 0.25);
  return {inverse / b, b};
}

// A flow from a random start, compared with the theorem.
struct FlowToLimit {
  double norm = 0;
  bool low_rank = false;
  double distance = 0, drift = 0, risk = 0, least_b = kInfinity;  // relative, as the table says
  Curve path;
};

FlowToLimit flow_to_limit(const StartRange& range, const Stream& stream, int control,
                          const Execution& execution) {
  constexpr double kShownDistance = 1e-7, kShownFrom = 1e-4;
  const RandomStart random = random_start(range, stream);
  // What the integrator loses at a large start is small beside that start, not beside the end.
  const RegressionFlow flow = regression_flow(
      random.problem, AttentionKind::softmax, control == 2 ? kControlLength : kInfinity, random.start,
      {.relative_tolerance = range.of_paper ? 1e-10 : 1e-12, .absolute_tolerance = 1e-14}, execution);
  const Vector end = parameters_of(theorem_limit(random.problem, control));
  const auto distance = [&](const TrajectoryPoint& point) {
    return (flow.map->map(point.parameters) - end).norm() / end.norm();
  };
  FlowToLimit found{
      .norm = random.norm,
      .low_rank = random.rank < random.problem.dimension(),
      .distance = distance(flow.flow.trajectory.points().back()),
      .drift = flow.flow.drift.back() / std::max(random.start.A.squaredNorm(), flow.last.A.squaredNorm()),
      .risk = flow.flow.last.value / random.problem.null_risk(),
      .path = {}};
  for (const TrajectoryPoint& point : flow.flow.trajectory.points()) {
    const Vector at = flow.map->map(point.parameters);
    found.least_b = std::min(found.least_b, at[at.size() - 1] / end[end.size() - 1]);
  }
  // In units in which ‖Σ‖ is one. Below kShownDistance the error of the integrator would show.
  const double rate = random.norm * random.norm;
  found.path = path_curve(range.name, 0, flow.flow.trajectory, kShownFrom / rate, [&](const auto& point) {
    const double here = distance(point);
    return here > kShownDistance ? here : 0;
  });
  for (double& t : found.path.x) t *= rate;
  return found;
}

}  // namespace

report::ReportSection infinite_limit_claim(const ClaimOptions& options) {
  const std::size_t starts = options.control ? 1 : options.quick ? 4 : options.full ? 25 : 8;
  double all_error = 0, all_drift = 0, all_risk = 0;
  report::ReportTable table{
      "Starts with α in each range, and the ends of their flows: distances relative to (A∞, b∞), changes "
      "relative to the larger ‖A‖² of both ends, risks relative to that of predicting zero, and the least b "
      "on the way.",
      {"α", "starts", "least ‖Σ‖", "largest ‖Σ‖", "with rank Θ < d", "distance", "change of ‖A‖² − b²",
       "risk", "least b/b∞"}};
  Panel panel{.x_label = "time t ‖Σ‖²", .y_label = "relative distance from (A∞, b∞)"};
  std::vector<std::uint64_t> numbers(starts * kRanges.size());
  std::iota(numbers.begin(), numbers.end(), 0);
  const std::vector<FlowToLimit> flows =
      side_by_side(numbers, options.execution, [&](std::uint64_t number, const Execution& execution) {
        return flow_to_limit(kRanges[number / starts], Stream(options.seed, 77).substream(number),
                             options.control, execution);
      });
  for (std::size_t r = 0; r < kRanges.size(); ++r) {
    FlowToLimit worst{.path = flows[r * starts].path};
    double least_norm = kInfinity;
    int low_ranks = 0;
    for (std::size_t i = r * starts; i < (r + 1) * starts; ++i) {
      least_norm = std::min(least_norm, flows[i].norm);
      worst.norm = larger(worst.norm, flows[i].norm);
      worst.distance = larger(worst.distance, flows[i].distance);
      worst.drift = larger(worst.drift, flows[i].drift);
      worst.risk = larger(worst.risk, flows[i].risk);
      worst.least_b = std::min(worst.least_b, flows[i].least_b);
      if (flows[i].low_rank) ++low_ranks;
    }
    table.rows.push_back({kRanges[r].name, starts, least_norm, worst.norm, low_ranks, worst.distance,
                          worst.drift, worst.risk, worst.least_b});
    all_error = larger(all_error, worst.distance);
    all_drift = larger(all_drift, worst.drift);
    all_risk = larger(all_risk, worst.risk);
    worst.path.color = static_cast<int>(r);
    panel.curves.push_back(std::move(worst.path));
  }
  report::ReportSection claim{
      .computed = fmt::format(
          "{} random starts: covariances Σ of norm drawn between 0.1 and 10 and condition up to 100 in 2 to "
          "10 dimensions, "
          "Θ of random rank, α in four ranges. The last range is 2 to 100 times the end of the paper's "
          "interval or that of α < √2/(d^{{1/4}}‖Σ‖^{{1/2}}), the condition of the same form that does not "
          "depend on "
          "units (docs/icl.md), whichever is larger. Flow by CVODE until it is "
          "stationary.",
          starts * kRanges.size())};
  claim.numbers = {
      {"largest distance from (A∞, b∞) at the end, relative", all_error, kLimitTolerance},
      {"largest change of ‖A‖² − b², relative to ‖A‖²", all_drift, kLimitTolerance},
      {"largest risk at the end, relative to that of predicting zero", all_risk, kLimitTolerance}};
  claim.tables = {table};
  claim.figures = {
      {"infinite-limit",
       {{panel},
        "Flows of the infinite prompt approach the minimum of the theorem, down to what the integrator "
        "resolves. One start of each range of α."}}};
  return decided(std::move(claim));
}

}  // namespace largo::claims
