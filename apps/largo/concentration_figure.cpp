// The figure of largo concentration.
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include <fmt/core.h>

#include "concentration_report.hpp"
#include "largo/report/figure.hpp"

namespace largo {
namespace {

constexpr std::size_t kMostSigmas = 6;

// At most kMostSigmas values of σ, evenly chosen: more curves cannot be told apart.
std::vector<double> shown_sigmas(const ConcentrationReport& report) {
  std::vector<double> all;
  for (const SigmaSummary& s : report.summary.sigmas) {
    if (std::find(all.begin(), all.end(), s.sigma) == all.end()) all.push_back(s.sigma);
  }
  if (all.size() <= kMostSigmas) return all;
  std::vector<double> some;
  for (std::size_t i = 0; i < kMostSigmas; ++i) some.push_back(all[i * (all.size() - 1) / (kMostSigmas - 1)]);
  return some;
}

// Replaces the hyphen by a minus sign.
std::string minus(std::string text) {
  const auto hyphen = text.find('-');
  return hyphen == std::string::npos ? text : text.replace(hyphen, 1, "−");
}

// Whether the error bars are too narrow to see.
bool is_thin(const Curve& curve) {
  for (std::size_t i = 0; i < curve.y.size(); ++i) {
    if (curve.high[i] - curve.low[i] > 1e-3 * curve.y[i]) return false;
  }
  return true;
}

struct Quantity {
  const char* title;
  std::optional<ErrorBar> (*of)(const ConcentrationRow& row);
  std::optional<Estimate> SigmaSummary::*slope;
  const std::optional<BoundReport>& bound;
  BoundShape shape;
  double CertifiedErrors::*certified;
};

// The certified bound, at the lengths of the rows.
Curve certified_curve(const ConcentrationReport& report, const Quantity& quantity, double sigma) {
  std::map<double, double> bounds;
  for (const ConcentrationRow& row : report.rows) {
    if (row.sigma != sigma || !row.certified || std::isinf(row.L)) continue;
    const double bound = (*row.certified).*quantity.certified;
    if (std::isfinite(bound)) bounds[row.L] = bound;
  }
  Curve curve;
  curve.style = Curve::Style::dashed;
  for (const auto& [L, bound] : bounds) {
    curve.x.push_back(L);
    curve.y.push_back(bound);
  }
  return curve;
}

// The paper's bound between the shortest and the longest prompt of at least two tokens.
Curve bound_curve(const ConcentrationReport& report, const Quantity& quantity, double sigma) {
  constexpr int kPoints = 60;
  double first = std::numeric_limits<double>::infinity(), last = 0;
  for (const ConcentrationRow& row : report.rows) {
    if (row.L < 2 || std::isinf(row.L)) continue;
    first = std::min(first, row.L);
    last = std::max(last, row.L);
  }
  Curve curve;
  curve.style = Curve::Style::dashed;
  if (!quantity.bound || !(first < last)) return curve;
  for (int i = 0; i <= kPoints; ++i) {
    const double L = first * std::pow(last / first, static_cast<double>(i) / kPoints);
    curve.x.push_back(L);
    curve.y.push_back(bound_value(quantity.shape, quantity.bound->constants,
                                  report.summary.sub_gaussian * sigma, std::max(L, 2.0)));
  }
  return curve;
}

// The errors at one sigma by one method, against the length.
Curve error_curve(const ConcentrationReport& report, const Quantity& quantity, double sigma,
                  ErrorMethod method) {
  std::map<double, ErrorBar> bars;
  for (const ConcentrationRow& row : report.rows) {
    const auto error = quantity.of(row);
    if (row.sigma == sigma && row.method == method && error && !std::isinf(row.L)) bars[row.L] = *error;
  }
  Curve curve;
  for (const auto& [L, bar] : bars) {
    curve.x.push_back(L);
    curve.y.push_back(bar.value);
    curve.low.push_back(bar.low);
    curve.high.push_back(bar.high);
  }
  if (method == ErrorMethod::sampled) curve.style = Curve::Style::points;
  if (method == ErrorMethod::exact && is_thin(curve)) curve.low = curve.high = {};
  return curve;
}

Panel panel_of(const ConcentrationReport& report, const Quantity& quantity,
               const std::vector<double>& sigmas) {
  Panel panel;
  panel.title = quantity.title;
  panel.x_label = "prompt length L";
  panel.y_label = "mean squared error";
  const bool only_sampled = report.summary.method == ErrorMethod::sampled;
  for (std::size_t k = 0; k < sigmas.size(); ++k) {
    const std::string name = fmt::format("σ = {:.3g}", sigmas[k]);
    Curve bound = report.show_fit ? bound_curve(report, quantity, sigmas[k])
                                  : certified_curve(report, quantity, sigmas[k]);
    Curve exact = error_curve(report, quantity, sigmas[k], ErrorMethod::exact);
    Curve sampled = error_curve(report, quantity, sigmas[k], ErrorMethod::sampled);
    if (k == 0) bound.label = report.show_fit ? "bound" : "certified bound";
    exact.label = name;
    sampled.label = only_sampled ? name : fmt::format("{}, sampled", name);
    for (const SigmaSummary& s : report.summary.sigmas) {
      const auto& slope = s.*quantity.slope;
      if (s.sigma != sigmas[k] || s.method != report.summary.method || !slope) continue;
      (only_sampled ? sampled : exact).note = minus(fmt::format("{:.2f}", slope->value));
    }
    for (Curve* curve : {&bound, &exact, &sampled}) {
      if (curve->x.empty()) continue;
      curve->color = static_cast<int>(k);
      panel.curves.push_back(std::move(*curve));
    }
  }
  return panel;
}

// Explains the marks.
std::string marks_of(const ConcentrationReport& report) {
  const auto any = [&](ErrorMethod method) {
    return std::any_of(report.rows.begin(), report.rows.end(),
                       [&](const ConcentrationRow& row) { return row.method == method; });
  };
  if (!any(ErrorMethod::sampled)) return " Open marks show the computed lengths.";
  const bool both = any(ErrorMethod::exact);
  return fmt::format(" {} are sampled, with their intervals.",
                     both ? "Lines are exact; filled marks" : "Marks");
}

std::string warned_of(const ConcentrationReport& report) {
  const auto warned = std::count_if(report.rows.begin(), report.rows.end(),
                                    [](const ConcentrationRow& row) { return !row.warnings.empty(); });
  if (warned == 0) return {};
  return fmt::format(" {} sampled point{} a warning: intervals may be too short.", warned,
                     warned == 1 ? " has" : "s have");
}

}  // namespace

std::string to_svg(const ConcentrationReport& report) {
  const Quantity quantities[] = {
      {"output", [](const ConcentrationRow& row) -> std::optional<ErrorBar> { return row.output; },
       &SigmaSummary::output, report.summary.output, kOutputBound, &CertifiedErrors::output},
      {"gradient in V", [](const ConcentrationRow& row) -> std::optional<ErrorBar> { return row.gradient_V; },
       &SigmaSummary::gradient_V, report.summary.gradient_V, kGradientVBound, &CertifiedErrors::gradient_V},
      {"gradient in U", [](const ConcentrationRow& row) { return row.gradient_U; }, &SigmaSummary::gradient_U,
       report.summary.gradient_U, kGradientUBound, &CertifiedErrors::gradient_U}};
  const std::vector<double> sigmas = shown_sigmas(report);
  Figure figure;
  for (const Quantity& quantity : quantities) {
    Panel panel = panel_of(report, quantity, sigmas);
    if (!panel.curves.empty()) figure.panels.push_back(std::move(panel));
  }
  std::size_t all = 0;
  for (const SigmaSummary& s : report.summary.sigmas) all += s.method == report.summary.method ? 1 : 0;
  figure.caption = fmt::format(
      "Distance of softmax attention over L tokens from its limit: {}, d = {}, queries {}{}.", report.law,
      report.dimension, report.queries, report.beside.empty() ? "" : ", beside " + report.beside);
  figure.caption += marks_of(report);
  const bool slopes = std::any_of(figure.panels.begin(), figure.panels.end(), [](const Panel& panel) {
    return std::any_of(panel.curves.begin(), panel.curves.end(),
                       [](const Curve& c) { return !c.note.empty(); });
  });
  if (slopes) figure.caption += " The numbers beside the curves are their slopes.";
  figure.caption += warned_of(report);
  if (sigmas.size() < all)
    figure.caption += fmt::format(" {} of {} values of σ are shown.", sigmas.size(), all);
  return to_svg(figure);
}

}  // namespace largo
