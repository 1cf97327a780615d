// Figures of the kinds that papers have, for tests and for inspection by eye.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "largo/report/figure.hpp"

namespace largo::test {

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// n values from a to b with equal ratios, by logarithms, so that a = 1e-300 and b = 1e300 work.
inline std::vector<double> log_spaced(double a, double b, int n) {
  std::vector<double> out;
  out.reserve(static_cast<std::size_t>(n));
  for (int i = 0; i < n; ++i) {
    out.push_back(std::exp(std::log(a) + (std::log(b) - std::log(a)) * i / std::max(n - 1, 1)));
  }
  return out;
}

template <class Function>
Curve curve_of(std::string label, const std::vector<double>& x, Function f, int color,
               Curve::Style style = Curve::Style::line) {
  Curve curve;
  curve.label = std::move(label);
  curve.x = x;
  for (const double v : x) curve.y.push_back(f(v));
  curve.style = style;
  curve.color = color;
  return curve;
}

/// Three errors against L at five sigmas: lines, dashed bounds, bands, points with error bars, and slopes.
inline Figure concentration_figure() {
  Figure figure;
  const char* const titles[] = {"Output", "Gradient in V", "Gradient in U"};
  const double sigmas[] = {0.2, 0.4, 1, 1.5, 2};
  const char* const names[] = {"σ = 0.2", "σ = 0.4", "σ = 1", "σ = 1.5", "σ = 2"};
  for (int p = 0; p < 3; ++p) {
    Panel panel;
    panel.title = titles[p];
    panel.x_label = "prompt length L";
    if (p == 0) panel.y_label = "mean squared error";
    for (int k = 0; k < 5; ++k) {
      const double s = sigmas[k];
      const double slope = 1 / (1 + 0.35 * s * s * s);
      const auto error = [&](double L) {
        return (1 + p) * s * s * std::pow(L, -slope) * (1 + 2 / (1 + std::log(L)));
      };
      Curve exact = curve_of(names[k], log_spaced(2, 1e12, 60), error, k);
      exact.note = k == 0 ? "−1.00" : k == 1 ? "−0.98" : "−0.47";
      if (k >= 3) {
        for (const double y : exact.y) {
          exact.low.push_back(y / 1.6);
          exact.high.push_back(y * 1.6);
        }
      }
      panel.curves.push_back(exact);
      if (k == 0 || k == 4) {
        panel.curves.push_back(curve_of(
            k == 0 ? "bound of the paper" : "", log_spaced(2, 1e12, 30),
            [&](double L) { return 4 * error(L); }, k, Curve::Style::dashed));
      }
      if (k == 2) {
        Curve sampled = curve_of(
            "sampled", log_spaced(4, 1e6, 8), [&](double L) { return 1.1 * error(L); }, k,
            Curve::Style::points);
        for (const double y : sampled.y) {
          sampled.low.push_back(0.6 * y);
          sampled.high.push_back(1.7 * y);
        }
        panel.curves.push_back(sampled);
      }
    }
    figure.panels.push_back(panel);
  }
  return figure;
}

/// L up to 1e300, errors down to 1e-200, and a limit at L = ∞ that is not drawn.
inline Figure extreme_figure() {
  Figure figure;
  Panel panel{.title = "Very long prompts", .x_label = "prompt length L", .y_label = "E‖T[μ̂_L] − T[μ]‖²"};
  std::vector<double> lengths = log_spaced(2, 1e300, 80);
  lengths.push_back(kInfinity);
  for (int k = 0; k < 3; ++k) {
    const double slope = 0.66 - 0.2 * k;
    panel.curves.push_back(curve_of(
        k == 0   ? "σ = 0.4"
        : k == 1 ? "σ = 1"
                 : "σ = 2",
        lengths, [&](double L) { return std::pow(L, -slope); }, k));
    panel.curves.back().note = "−0.66";
  }
  figure.panels.push_back(panel);
  panel.title = "A logarithm, all values within 2 %";
  panel.log_x = false;
  panel.y_label = "error × L";
  panel.curves = {curve_of(
      "", {0, 1, 2, 3, 4, 5}, [](double x) { return 0.0317 * (1 + 0.003 * x); }, 0)};
  panel.x_label = "step";
  figure.panels.push_back(panel);
  return figure;
}

/// One panel with one curve, broken by zeros.
inline Figure single_figure() {
  Figure figure;
  Panel panel{.title = "Softmax weights: E[P₂] at s = 2", .x_label = "prompt length L", .y_label = "E[P₂]"};
  panel.curves = {curve_of(
      "exact", log_spaced(1, 1e6, 50),
      [](double L) { return L > 300 && L < 1000 ? 0 : std::min(1.0, 3 / std::sqrt(L)); }, 0)};
  figure.panels = {panel};
  figure.caption =
      "The mean sum of squared softmax weights of a prompt of L Gaussian tokens, exactly; it is broken where "
      "it was set to zero.";
  return figure;
}

/// Twelve curves in one panel with linear axes.
inline Figure crowded_figure() {
  Figure figure;
  Panel panel{.title = "Twelve trajectories", .x_label = "time", .y_label = "distance to the limit"};
  panel.log_x = panel.log_y = false;
  std::vector<double> times;
  for (int i = 0; i <= 60; ++i) times.push_back(i * 2e-8);
  for (int k = 0; k < 12; ++k) {
    panel.curves.push_back(curve_of(
        "run " + std::string(1, static_cast<char>('a' + k)), times,
        [&](double t) { return (1 - 0.07 * k) * std::exp(-4e5 * t * (k + 1)); }, k));
    panel.curves.back().note = "note " + std::string(1, static_cast<char>('a' + k));
  }
  figure.panels = {panel};
  return figure;
}

/// Four panels in two rows: one point, equal curves, nothing to draw, a constant.
inline Figure edge_figure() {
  Figure figure;
  const auto panel = [&](const char* title, std::vector<Curve> curves) {
    Panel p;
    p.title = title;
    p.x_label = "L";
    p.y_label = "error";
    p.curves = std::move(curves);
    figure.panels.push_back(p);
  };
  const std::vector<double> L = log_spaced(16, 1024, 7);
  const auto inverse = [](double x) { return 1 / x; };
  panel("One point", {curve_of("one", {100}, inverse, 0)});
  panel("Equal curves", {curve_of("first", L, inverse, 1), curve_of("second", L, inverse, 2),
                         curve_of("dashed", L, inverse, 7, Curve::Style::dashed)});
  panel("Zero everywhere", {curve_of(
                               "zero", L, [](double) { return 0.0; }, 3)});
  panel("A constant with a title that is much too long for its panel",
        {curve_of(
            "constant", L, [](double) { return 3.3e-9; }, 4, Curve::Style::dotted)});
  figure.panels.back().log_y = false;
  return figure;
}

}  // namespace largo::test
