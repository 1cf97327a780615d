// The figure of largo icl train: risks in time, the phase portrait, and risks at the end against L.
#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include <fmt/format.h>

#include "icl_train_report.hpp"
#include "largo/icl/training/make_training_plan.hpp"
#include "largo/icl/training/seed_summary.hpp"
#include "largo/report/figure.hpp"
#include "report/report.hpp"

namespace largo {
namespace {

constexpr std::size_t kMostLengths = 5;

std::string shown(const LengthLaw& L) { return L.is_one_length() ? report::shown(L.longest()) : L.name(); }

std::string label_of(const LengthLaw& L) { return fmt::format("L = {}", shown(L)); }

// At most kMostLengths lengths, evenly chosen, with both ends: more curves cannot be told apart.
std::vector<LengthLaw> shown_lengths(const TrainReport& report) {
  const std::vector<LengthLaw>& all = report.plan.lengths;
  if (all.size() <= kMostLengths) return all;
  std::vector<LengthLaw> some;
  for (std::size_t i = 0; i < kMostLengths; ++i)
    some.push_back(all[i * (all.size() - 1) / (kMostLengths - 1)]);
  return some;
}

bool several_kinds(const TrainReport& report) { return report.plan.attention.size() > 1; }

// "training", or "training, linear" if there are two kinds of attention to tell apart.
std::string title_of(const char* what, const TrainReport& report, AttentionKind attention) {
  return several_kinds(report) ? fmt::format("{}, {}", what, name_of(attention)) : what;
}

// The smallest risk shown against time. The risk of the infinite prompt falls forever, and would leave no
// room for the others.
double least_shown(const TrainReport& report) {
  constexpr double kRoom = 100;  // below the risks of finite prompts
  double least = HUGE_VAL;
  for (const TrainingRun& run : report.runs) {
    if (!run.L.is_infinite() && run.final_risk.value > 0) least = std::min(least, run.final_risk.value);
  }
  return std::isinf(least) ? 1e-14 : least / kRoom;
}

// The curves of one kind of attention for the first seed; `place` adds x and y of each point of a path.
template <typename Place>
std::vector<Curve> path_curves(const TrainReport& report, AttentionKind attention, const Place& place) {
  std::vector<Curve> curves;
  const std::vector<LengthLaw> lengths = shown_lengths(report);
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    bool labelled = false;
    for (const TrainingRun& run : report.runs) {
      if (!(run.L == lengths[i]) || run.attention != attention || run.seed != report.plan.batches.seed) {
        continue;
      }
      Curve curve;
      curve.color = static_cast<int>(i);
      curve.style = run.method == TrainingMethod::flow ? Curve::Style::line : Curve::Style::points;
      const auto& points = run.path.points();
      const std::size_t stride =
          run.method == TrainingMethod::flow ? 1 : std::max<std::size_t>(1, points.size() / 20);
      for (std::size_t k = 0; k < points.size(); k += stride) place(run, points[k], curve);
      if (curve.x.empty()) continue;
      if (!labelled) curve.label = label_of(run.L);
      labelled = true;
      curves.push_back(std::move(curve));
    }
  }
  return curves;
}

Panel risk_panel(const TrainReport& report, AttentionKind attention) {
  constexpr double kFirstTime = 1e-2;  // time 0 cannot be shown on this axis
  Panel panel;
  panel.title = title_of("training", report, attention);
  panel.x_label = "time t";
  panel.y_label = "risk";
  const double least = least_shown(report);
  panel.curves =
      path_curves(report, attention, [&](const TrainingRun&, const TrajectoryPoint& point, Curve& curve) {
        if (!(point.time > kFirstTime) || !(point.risk > least)) return;
        curve.add(point.time, point.risk);
      });
  return panel;
}

Panel phase_panel(const TrainReport& report, AttentionKind attention) {
  Panel panel;
  panel.title = title_of("phase portrait", report, attention);
  panel.x_label = "‖A‖";
  panel.y_label = "b";
  panel.log_x = panel.log_y = false;
  const Eigen::Index d = token_dimension(report.plan) - 1;
  panel.curves =
      path_curves(report, attention, [&](const TrainingRun& run, const TrajectoryPoint& point, Curve& curve) {
        const RegressionParameters here = to_head(report.plan, run.map->map(point.parameters));
        curve.add(here.U.norm(), here.v[d]);
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
      std::map<double, std::vector<double>> risks;  // by length, of all seeds
      std::map<double, double> spreads;             // by length, over time, of the first seed
      for (const TrainingRun& run : report.runs) {
        if (run.attention != attention || run.method != method) continue;
        if (!run.L.is_one_length() || run.L.is_infinite()) continue;
        risks[run.L.longest()].push_back(run.final_risk.value);
        spreads.try_emplace(run.L.longest(), run.noise ? run.noise->spread : 0);
      }
      Curve curve;
      curve.color = static_cast<int>(kMostLengths) + color;
      curve.label = fmt::format("{}, {}", name_of(attention), name_of(method));
      curve.style = method == TrainingMethod::flow ? Curve::Style::line : Curve::Style::points;
      for (const auto& [L, values] : risks) {
        const OverSeeds risk = over_seeds(values);
        const double spread = 2 * risk.deviation.value_or(spreads[L]);
        curve.add(L, risk.mean);
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

std::vector<std::string> lengths_text(const std::vector<LengthLaw>& lengths) {
  std::vector<std::string> texts;
  for (const LengthLaw& L : lengths) texts.push_back(L.is_infinite() ? "∞" : shown(L));
  return texts;
}

// Explains the marks, and says what the figure leaves out.
std::string marks_and_omissions(const TrainReport& report, bool lengths_shown) {
  const bool flow = has(report.plan, TrainingMethod::flow);
  const bool descent = has(report.plan, TrainingMethod::descent);
  std::string text = !descent ? ". Open marks stand on computed points."
                     : flow   ? ", and filled marks are stochastic gradient descent."
                              : ": marks are stochastic gradient descent.";
  if (descent && lengths_shown) text += " Bars are two standard deviations.";
  const auto infinite = [](const LengthLaw& L) { return L.is_infinite(); };
  const auto random = [](const LengthLaw& L) { return !L.is_one_length(); };
  const auto& all = report.plan.lengths;
  if (all.size() > kMostLengths)
    text += fmt::format(" Against time, {} of {} lengths are shown: {}.", kMostLengths, all.size(),
                        fmt::join(lengths_text(shown_lengths(report)), ", "));
  const auto least = least_shown(report);
  const bool cut = std::any_of(report.runs.begin(), report.runs.end(), [&](const TrainingRun& run) {
    return run.L.is_infinite() && run.final_risk.value < least;
  });
  if (cut) text += fmt::format(" Risks below {} are not shown.", report::shown(least, 1));
  if (lengths_shown && std::any_of(all.begin(), all.end(), infinite))
    text += " L = ∞ cannot be shown on a logarithmic axis.";
  if (lengths_shown && std::any_of(all.begin(), all.end(), random))
    text += " Random lengths are shown against time alone.";
  std::set<std::uint64_t> seeds;
  for (const TrainingRun& run : report.runs) seeds.insert(run.seed);
  if (seeds.size() > 1) {
    text += fmt::format(" Against time, the first of {} seeds is shown{}.", seeds.size(),
                        lengths_shown ? ", and against L their mean" : "");
  }
  return text;
}

}  // namespace

std::string to_svg(const TrainReport& report) {
  Figure figure;
  const auto add = [&](Panel panel) {
    const bool any = std::any_of(panel.curves.begin(), panel.curves.end(),
                                 [](const Curve& curve) { return !curve.x.empty(); });
    if (any) figure.panels.push_back(std::move(panel));
    return any;
  };
  const auto& kinds = report.plan.attention;
  const bool phases = report.plan.parameters == Parametrisation::invariant;
  for (const AttentionKind attention : kinds) add(risk_panel(report, attention));
  // With two kinds of attention, the first row shows the risks against time and L, the second the portraits.
  if (phases && kinds.size() == 1) add(phase_panel(report, kinds.front()));
  Panel lengths = length_panel(report);
  std::erase_if(lengths.curves, [](const Curve& curve) { return curve.x.size() < 3; });
  const bool lengths_shown = add(std::move(lengths));
  if (phases && kinds.size() > 1) {
    for (const AttentionKind attention : kinds) add(phase_panel(report, attention));
  }
  figure.caption =
      report.plan.other
          ? fmt::format("In-context learning with tokens of {} numbers", token_dimension(report.plan))
          : fmt::format("In-context regression in {} dimensions", report.plan.problem.dimension());
  if (has(report.plan, TrainingMethod::flow)) {
    double error = 0;
    for (const TrainingRun& run : report.runs) error = std::max(error, run.record_error.value_or(0));
    figure.caption += fmt::format(
        ": lines are gradient flow on the {}",
        report.plan.other
            ? fmt::format(
                  "risk averaged over {} draws (error {:.1g}), and risks after training are over fresh draws",
                  report.plan.prompts, error)
        : phases ? "exact risk"
                 : fmt::format("risk averaged over tasks (error {:.1g} where it was checked)", error));
  }
  figure.caption += marks_and_omissions(report, lengths_shown);
  return to_svg(figure);
}

}  // namespace largo
