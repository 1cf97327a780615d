// What is known about the risk along the path of a flow, and at its end.
#include "icl/training/flow_runs.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <utility>
#include <vector>

#include "icl/training/plan_parts.hpp"
#include "largo/icl/exact_risk.hpp"
#include "largo/icl/general_risk.hpp"
#include "largo/icl/regression_maps.hpp"
#include "largo/icl/regression_risk.hpp"

namespace largo::icl {
namespace {

constexpr double kRounding = 4 * std::numeric_limits<double>::epsilon();  // least relative error of a risk
constexpr std::size_t kKnots = 9;

// Risks along a path where they are known, by the number of the record.
using KnownRisks = std::map<std::size_t, Estimate>;

// All records, or kKnots of them that include both ends: these are equally spaced in the mean of number and
// change of the risk, since in transients a few records are far apart.
std::vector<std::size_t> places(const std::vector<TrajectoryPoint>& points, bool all) {
  const std::size_t last = points.size() - 1;
  double change = 0;
  for (std::size_t i = 1; i <= last; ++i) change += std::abs(points[i].risk - points[i - 1].risk);
  std::vector<std::size_t> found = {0};
  double way = 0;
  for (std::size_t i = 1; i <= last; ++i) {
    way += 0.5 / static_cast<double>(last);
    if (change > 0) way += 0.5 * std::abs(points[i].risk - points[i - 1].risk) / change;
    const double next = static_cast<double>(found.size()) / static_cast<double>(kKnots - 1);
    if (all || i == last || (way >= next && found.size() < kKnots - 1)) found.push_back(i);
  }
  return found;
}

bool is_softmax_off_the_set(const TrainingPlan& plan, const TrainingRun& run) {
  return plan.parameters != Parametrisation::invariant && run.attention == AttentionKind::softmax &&
         !run.L.is_infinite();
}

KnownRisks known_risks(const TrainingPlan& plan, const TrainingRun& run, const Execution& execution) {
  const std::vector<TrajectoryPoint>& points = run.path.points();
  const Eigen::Index d = plan.problem.dimension();
  const auto parameters = [&](std::size_t i) { return to_parameters(run.map->map(points[i].parameters), d); };
  const bool rough = is_softmax_off_the_set(plan, run) && d <= kMostExactDimension;
  // A flow that starts on the invariant set stays there, and risks there cost almost nothing.
  const bool invariant = is_invariant(parameters(0)) && is_invariant(run.last);
  KnownRisks known;
  for (const std::size_t i : places(points, invariant && is_softmax_off_the_set(plan, run))) {
    const RegressionParameters here = parameters(i);
    known[i] = i + 1 == points.size() ? run.final_risk
               : rough && !is_invariant(here)
                   ? rough_risk(plan.problem, run.L, here, execution)
                   : regression_risk(plan.problem, run.attention, run.L, here, final_nodes(plan), execution);
  }
  return known;
}

// The first half of a path is computed over fewer nodes than the second.
enum class Half : std::uint8_t { first, second };

// The records, with one half of them over other nodes.
std::vector<TrajectoryPoint> with_half_over(const TaskNodes& nodes, Half half, const TrainingPlan& plan,
                                            const TrainingRun& run, const Execution& execution) {
  std::vector<TrajectoryPoint> points = run.path.points();
  const auto risk = in_parameters(softmax_risk_over_nodes(plan.problem, run.L, nodes, execution), run.map);
  for (TrajectoryPoint& point : points) {
    if ((point.time <= plan.flow.end / 2) != (half == Half::first)) continue;
    const RiskPoint here = risk->at(point.parameters);
    point.risk = here.value;
    point.gradient_norm = here.gradient.norm();
  }
  return points;
}

// A value at every record, interpolated linearly between some of them, which include the first and the last.
std::vector<double> interpolated(const std::vector<std::size_t>& records,
                                 const std::function<double(std::size_t record)>& value) {
  std::vector<double> values = {value(records.front())};
  for (std::size_t k = 1; k < records.size(); ++k) {
    const std::size_t first = records[k - 1], last = records[k];
    const double from = value(first), to = value(last);
    for (std::size_t i = first + 1; i < last; ++i) {
      const double share = static_cast<double>(i - first) / static_cast<double>(last - first);
      values.push_back((1 - share) * from + share * to);
    }
    values.push_back(to);
  }
  return values;
}

// Every other record, and the last.
std::vector<std::size_t> thinned(const std::vector<std::size_t>& given) {
  std::vector<std::size_t> some;
  for (std::size_t k = 0; k < given.size(); ++k) {
    if (k % 2 == 0 || k + 1 == given.size()) some.push_back(given[k]);
  }
  return some;
}

// Records become the known risks where there are any (at knots). In between they become averages over the
// late nodes, corrected by what these miss at the knots. The error is the larger of two: that of the same
// correction with every other knot, at the knots left out; and that of the same interpolation, at all
// records, of the difference between early and late nodes, since early ones are fewer and differ more.
void correct(const TrainingPlan& plan, TrainingRun& run, const KnownRisks& known,
             const Execution& execution) {
  std::vector<TrajectoryPoint> late =
      with_half_over(late_nodes(plan, run.L), Half::first, plan, run, execution);
  const std::vector<TrajectoryPoint> early =
      with_half_over(early_nodes(plan, run.L), Half::second, plan, run, execution);
  std::vector<std::size_t> records;
  for (const auto& [i, risk] : known) records.push_back(i);
  const auto missed = [&](std::size_t i) { return known.at(i).value - late[i].risk; };
  const auto differ = [&](std::size_t i) { return early[i].risk - late[i].risk; };
  const std::vector<double> correction = interpolated(records, missed);
  const std::vector<double> coarse = interpolated(thinned(records), missed);
  const std::vector<double> difference = interpolated(records, differ);
  double error = 0, of_known = 0;
  for (std::size_t i = 0; i < late.size(); ++i) error = std::max(error, std::abs(differ(i) - difference[i]));
  for (const auto& [i, risk] : known) {
    if (known.size() < late.size()) error = std::max(error, std::abs(missed(i) - coarse[i]));
    of_known = std::max(of_known, risk.error);
  }
  run.record_error = error + of_known;
  Trajectory path;
  for (std::size_t i = 0; i < late.size(); ++i) {
    const auto here = known.find(i);
    late[i].risk = here != known.end() ? here->second.value : late[i].risk + correction[i];
    path.add(std::move(late[i]), run.path.values()[i]);
  }
  run.path = std::move(path);
}

}  // namespace

void look_at_records(const TrainingPlan& plan, TrainingRun& run, const Execution& execution) {
  run.final_risk =
      regression_risk(plan.problem, run.attention, run.L, run.last, final_nodes(plan), execution);
  // A risk below the rounding of that of predicting zero is zero, and is shown as such.
  const double value = run.final_risk.value;
  if (value > kRounding * plan.problem.null_risk()) {
    run.final_risk.error = std::max(run.final_risk.error, kRounding * value);
  }
  const KnownRisks known = known_risks(plan, run, execution);
  if (is_softmax_off_the_set(plan, run)) {
    correct(plan, run, known, execution);
    return;
  }
  double error = 0;
  for (const auto& [record, risk] : known) {
    error = std::max(error, std::abs(run.path.points()[record].risk - risk.value) + risk.error);
  }
  run.record_error = error;
}

}  // namespace largo::icl
