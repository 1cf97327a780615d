// Curves, bands and points in the coordinates of the page, and how each colour number looks.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "largo/report/figure.hpp"
#include "report/axis.hpp"
#include "report/svg_text.hpp"

namespace largo::report {

/// Where a panel's axes are on the page.
struct Frame {
  Box plot;
  Axis x, y;

  /// Empty if a value has no place on its axis.
  std::optional<Point> at(double x_value, double y_value) const;
};

std::string_view color_of(int color);

/// Whether a value of the curve has a place on axes of these scales, whatever range they show.
bool drawable(const Panel& panel, const Curve& curve, std::size_t i);
bool drawable(const Panel& panel, const Curve& curve);

/// The width of each bar: 1 for a single one.
double bar_width(const Curve& curve);

/// Adds what lies below all curves: the band of a line, or the bars.
void add_band(std::string& out, const Curve& curve, const Frame& frame);

/// Adds a line, with its colour's marker on some of its points if it needs one (on all of them if there is
/// room), or points with their error bars.
void add_curve(std::string& out, const Panel& panel, const Curve& curve, const Frame& frame);

/// Adds the curve's sample in a legend, from `at` to the right, at half the height of the text.
inline constexpr double kKeyWidth = 17;
void add_key(std::string& out, const Panel& panel, const Curve& curve, Point at);

}  // namespace largo::report
