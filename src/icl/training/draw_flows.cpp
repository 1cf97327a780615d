// Flows on problems whose risks are averages over draws.
#include <algorithm>
#include <cmath>

#include <fmt/core.h>

#include "icl/training/flow_runs.hpp"
#include "icl/training/plan_parts.hpp"
#include "largo/runtime/check.hpp"
#include "largo/training/gradient_flow.hpp"

namespace largo::icl {
namespace {

constexpr double kErrors = 2;             // standard errors of a record
constexpr std::size_t kMostRecords = 40;  // records whose standard error is computed
// A flow to its end is taken to be done when its gradient has fallen by this factor: for progress only.
constexpr double kWholeFall = 1e9;

// The share of a flow that is done.
class FlowShare {
 public:
  FlowShare(double end, const std::function<void(double share)>& show) : end_(end), show_(show) {}

  void operator()(double time, double norm) {
    first_ = std::max(first_, norm);
    const double share =
        std::isfinite(end_) ? time / end_ : std::log(first_ / std::max(norm, 1e-300)) / std::log(kWholeFall);
    shown_ = std::max(shown_, std::clamp(share, 0.0, 0.99));
    if (show_) show_(shown_);
  }

 private:
  double end_, first_ = 0, shown_ = 0;
  const std::function<void(double share)>& show_;
};

double largest_error(const Risk& risk, const TrainingRun& run) {
  const std::vector<TrajectoryPoint>& points = run.path.points();
  const std::size_t stride = 1 + points.size() / kMostRecords;
  double largest = risk.at(points.back().parameters).error;
  for (std::size_t i = 0; i < points.size(); i += stride) {
    largest = std::max(largest, risk.at(points[i].parameters).error);
  }
  return largest;
}

}  // namespace

TrainingRun flow_over_draws(const TrainingPlan& plan, AttentionKind attention, const LengthLaw& L,
                            const ShowFlow& show, const Execution& execution) {
  if (!plan.other->loss->is_smooth()) {
    fail("train", "loss", "not smooth", "smooth for flows: take huber with a small delta, or sgd");
  }
  const auto draws = std::make_shared<const PromptRisk>(setting_of(plan, attention, L, DrawsOf::flow),
                                                        plan.prompts, execution);
  TrainingRun run;
  run.L = L;
  run.attention = attention;
  run.seed = plan.batches.seed;
  run.method = TrainingMethod::flow;
  run.map = map_of(plan);
  run.average = draws->average();
  const auto risk = in_parameters(draws, run.map);
  FlowPlan flow_plan = plan.flow;
  FlowShare share(plan.flow.end, show);
  flow_plan.progress = [&](double time, double norm) { share(time, norm); };
  FlowResult flow;
  try {
    flow = gradient_flow(*risk, plan.start, flow_plan, execution);
  } catch (const InputError& error) {
    const char* remedy = std::isfinite(plan.flow.end) ? "" : "; such a flow can be followed up to a time";
    fail("train",
         fmt::format("{} attention, L = {}: {}{}", name_of(attention), L.name(), error.what(), remedy));
  }
  run.path = std::move(flow.trajectory);
  run.stationary = flow.stationary;
  run.flat = flow.flat;
  const std::vector<TrajectoryPoint>& points = run.path.points();
  run.steps = static_cast<std::int64_t>(points.size()) - 1;
  run.last = to_head(plan, run.map->map(points.back().parameters));
  run.final_risk = end_risk(plan, attention, L, run.last, execution);
  run.record_error =
      std::max(kErrors * largest_error(*risk, run),
               std::abs(points.back().risk - run.final_risk.value) + kErrors * run.final_risk.error);
  if (show) show(1);
  return run;
}

}  // namespace largo::icl
