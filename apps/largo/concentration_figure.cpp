// The figure of largo concentration.
#include <algorithm>
#include <cmath>

#include <fmt/core.h>

#include "concentration_report.hpp"
#include "largo/io/figure.hpp"

namespace largo {
namespace {

constexpr std::size_t kMostScales = 6;

// At most kMostScales of them, evenly chosen: more curves cannot be told apart.
std::vector<double> shown_scales(const ConcentrationReport& report) {
  std::vector<double> all;
  for (const ScaleSummary& s : report.summary.scales) {
    if (std::find(all.begin(), all.end(), s.scale) == all.end()) all.push_back(s.scale);
  }
  if (all.size() <= kMostScales) return all;
  std::vector<double> some;
  for (std::size_t i = 0; i < kMostScales; ++i) some.push_back(all[i * (all.size() - 1) / (kMostScales - 1)]);
  return some;
}

// A minus sign, which a hyphen is not.
std::string minus(std::string text) {
  const auto hyphen = text.find('-');
  return hyphen == std::string::npos ? text : text.replace(hyphen, 1, "−");
}

// Too narrow to be seen.
bool is_thin(const Curve& curve) {
  for (std::size_t i = 0; i < curve.y.size(); ++i) {
    if (curve.high[i] - curve.low[i] > 1e-3 * curve.y[i]) return false;
  }
  return true;
}

struct Quantity {
  const char* title;
  std::optional<ErrorBar> (*of)(const ConcentrationRow& row);
  std::optional<Estimate> ScaleSummary::*slope;
  const std::optional<BoundReport>& bound;
  BoundShape shape;
};

Panel panel_of(const ConcentrationReport& report, const Quantity& quantity,
               const std::vector<double>& scales) {
  Panel panel;
  panel.title = quantity.title;
  panel.x_label = "prompt length L";
  panel.y_label = "mean squared error";
  bool bound_named = false;
  for (std::size_t k = 0; k < scales.size(); ++k) {
    Curve exact, sampled, bound;
    exact.color = sampled.color = bound.color = static_cast<int>(k);
    sampled.style = Curve::Style::points;
    bound.style = Curve::Style::dashed;
    for (const ConcentrationRow& row : report.rows) {
      const auto error = quantity.of(row);
      if (row.scale != scales[k] || std::isinf(row.L) || !error) continue;
      Curve& curve = row.method == ErrorMethod::exact ? exact : sampled;
      curve.x.push_back(row.L);
      curve.y.push_back(error->value);
      curve.low.push_back(error->low);
      curve.high.push_back(error->high);
      if (row.method != report.summary.method || !quantity.bound || row.L < 2) continue;
      bound.x.push_back(row.L);
      bound.y.push_back(bound_value(quantity.shape, quantity.bound->constants,
                                    report.summary.sub_gaussian * row.scale, row.L));
    }
    if (is_thin(exact)) exact.low = exact.high = {};
    const std::string name = fmt::format("σ = {:.3g}", scales[k]);
    if (!exact.x.empty()) exact.label = name;
    if (!sampled.x.empty()) sampled.label = exact.x.empty() ? name : fmt::format("{}, sampled", name);
    if (!bound.x.empty() && !bound_named) {
      bound.label = "bound";
      bound_named = true;
    }
    for (const ScaleSummary& s : report.summary.scales) {
      const auto& slope = s.*quantity.slope;
      const Curve& curve = s.method == ErrorMethod::exact ? exact : sampled;
      if (s.scale != scales[k] || !slope || curve.x.empty()) continue;
      if (s.method == ErrorMethod::sampled && !exact.x.empty()) continue;
      const std::size_t middle = curve.x.size() / 2;
      panel.notes.push_back({curve.x[middle], curve.y[middle],
                             minus(fmt::format("slope {:.2f}", slope->value)), static_cast<int>(k)});
    }
    for (Curve* curve : {&bound, &exact, &sampled}) {
      if (!curve->x.empty()) panel.curves.push_back(std::move(*curve));
    }
  }
  return panel;
}

}  // namespace

std::string to_svg(const ConcentrationReport& report) {
  const Quantity quantities[] = {
      {"output", [](const ConcentrationRow& row) -> std::optional<ErrorBar> { return row.output; },
       &ScaleSummary::output, report.summary.output, kOutputBound},
      {"gradient in V", [](const ConcentrationRow& row) -> std::optional<ErrorBar> { return row.gradient_V; },
       &ScaleSummary::gradient_V, report.summary.gradient_V, kGradientVBound},
      {"gradient in U", [](const ConcentrationRow& row) { return row.gradient_U; }, &ScaleSummary::gradient_U,
       report.summary.gradient_U, kGradientUBound}};
  const std::vector<double> scales = shown_scales(report);
  Figure figure;
  for (const Quantity& quantity : quantities) {
    Panel panel = panel_of(report, quantity, scales);
    if (!panel.curves.empty()) figure.panels.push_back(std::move(panel));
  }
  figure.caption =
      fmt::format("Distance of softmax attention over L tokens from its limit: {}, d = {}, queries {}.",
                  report.law, report.dimension, report.queries);
  return to_svg(figure);
}

}  // namespace largo
