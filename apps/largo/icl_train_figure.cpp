// The figure of largo icl train: risks in time, the phase portrait, and risks at the end against L.
#include <algorithm>
#include <cmath>
#include <map>

#include <fmt/core.h>

#include "icl_train_report.hpp"
#include "icl_train_seeds.hpp"
#include "largo/io/figure.hpp"

namespace largo {
namespace {

constexpr std::size_t kMostLengths = 5;

std::string label_of(double L) {
  if (std::isinf(L)) return "L = ∞";
  return L < 1e5 ? fmt::format("L = {:g}", L) : fmt::format("L = {:.0e}", L);
}

// At most kMostLengths, evenly chosen, the ends among them: more curves cannot be told apart.
std::vector<double> shown_lengths(const TrainReport& report) {
  const std::vector<double>& all = report.plan.lengths;
  if (all.size() <= kMostLengths) return all;
  std::vector<double> some;
  for (std::size_t i = 0; i < kMostLengths; ++i)
    some.push_back(all[i * (all.size() - 1) / (kMostLengths - 1)]);
  return some;
}

bool several_kinds(const TrainReport& report) { return report.plan.attention.size() > 1; }

// Of the first kind of attention and the first seed; x and y of each point of the path.
template <typename Place>
std::vector<Curve> path_curves(const TrainReport& report, const Place& place) {
  std::vector<Curve> curves;
  const std::vector<double> lengths = shown_lengths(report);
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    bool labelled = false;
    for (const TrainingRun& run : report.runs) {
      if (run.L != lengths[i] || run.attention != report.plan.attention.front() ||
          run.seed != report.plan.batches.seed) {
        continue;
      }
      Curve curve;
      curve.color = static_cast<int>(i);
      if (!labelled) curve.label = label_of(run.L);
      labelled = true;
      curve.style = run.method == TrainingMethod::flow ? Curve::Style::line : Curve::Style::points;
      const auto& points = run.path.points();
      const std::size_t stride =
          run.method == TrainingMethod::flow ? 1 : std::max<std::size_t>(1, points.size() / 20);
      for (std::size_t k = 0; k < points.size(); k += stride) place(run, points[k], curve);
      curves.push_back(std::move(curve));
    }
  }
  return curves;
}

Panel risk_panel(const TrainReport& report) {
  Panel panel;
  panel.title = several_kinds(report) ? fmt::format("training, {}", name_of(report.plan.attention.front()))
                                      : "training";
  panel.x_label = "time t";
  panel.y_label = "risk";
  panel.curves = path_curves(report, [](const TrainingRun&, const TrajectoryPoint& point, Curve& curve) {
    if (!(point.time > 1e-2) || !(point.risk > 1e-14)) return;  // the start has no place on this axis
    curve.x.push_back(point.time);
    curve.y.push_back(point.risk);
  });
  return panel;
}

Panel phase_panel(const TrainReport& report) {
  Panel panel;
  panel.title = "phase portrait";
  panel.x_label = "‖A‖";
  panel.y_label = "b";
  panel.log_x = panel.log_y = false;
  const Eigen::Index d = report.plan.problem.dimension();
  panel.curves = path_curves(report, [&](const TrainingRun& run, const TrajectoryPoint& point, Curve& curve) {
    const RegressionParameters here = to_parameters(run.map->map(point.parameters), d);
    curve.x.push_back(here.U.norm());
    curve.y.push_back(here.v[d]);
  });
  return panel;
}

Panel length_panel(const TrainReport& report) {
  Panel panel;
  panel.title = "risk after training";
  panel.x_label = "prompt length L";
  panel.y_label = "risk";
  int color = 0;
  for (const AttentionKind attention : report.plan.attention) {
    for (const TrainingMethod method : report.plan.methods) {
      std::map<double, std::vector<double>> risks;  // of all seeds
      std::map<double, double> spreads;             // in time, of the first one
      for (const TrainingRun& run : report.runs) {
        if (run.attention != attention || run.method != method || std::isinf(run.L)) continue;
        risks[run.L].push_back(run.final_risk.value);
        spreads.try_emplace(run.L, run.noise ? run.noise->spread : 0);
      }
      Curve curve;
      curve.color = static_cast<int>(kMostLengths) + color;
      curve.label = fmt::format("{}, {}", name_of(attention), name_of(method));
      curve.style = method == TrainingMethod::flow ? Curve::Style::line : Curve::Style::points;
      for (const auto& [L, values] : risks) {
        const OverSeeds risk = over_seeds(values);
        const double spread = 2 * risk.deviation.value_or(spreads[L]);
        curve.x.push_back(L);
        curve.y.push_back(risk.mean);
        curve.low.push_back(std::max(risk.mean - spread, 0.2 * risk.mean));
        curve.high.push_back(risk.mean + spread);
      }
      if (method == TrainingMethod::flow) curve.low.clear(), curve.high.clear();
      if (!curve.x.empty()) panel.curves.push_back(std::move(curve));
    }
    ++color;
  }
  return panel;
}

}  // namespace

std::string to_svg(const TrainReport& report) {
  Figure figure;
  figure.panels.push_back(risk_panel(report));
  if (report.plan.parameters == Parametrisation::invariant) figure.panels.push_back(phase_panel(report));
  Panel lengths = length_panel(report);
  if (!lengths.curves.empty() && lengths.curves.front().x.size() > 2)
    figure.panels.push_back(std::move(lengths));
  double error = 0;
  for (const TrainingRun& run : report.runs) error = std::max(error, run.record_error.value_or(0));
  figure.caption = fmt::format("In-context regression in {} dimensions: lines are gradient flow on the {}",
                               report.plan.problem.dimension(),
                               report.plan.parameters == Parametrisation::invariant
                                   ? "exact risk"
                                   : fmt::format("risk averaged over tasks (error up to {:.1g})", error));
  const auto& methods = report.plan.methods;
  const bool sgd = std::find(methods.begin(), methods.end(), TrainingMethod::descent) != methods.end();
  figure.caption += sgd ? ", points stochastic gradient descent." : ".";
  return to_svg(figure);
}

}  // namespace largo
