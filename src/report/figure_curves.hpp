// Curves, bands and points in the coordinates of the page, and how each colour number looks.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "largo/report/figure.hpp"
#include "report/figure_axis.hpp"
#include "report/figure_ink.hpp"
#include "report/figure_svg.hpp"

namespace largo::svg {

/// Where a panel's axes stand on the page.
struct Frame {
  Box plot;
  Axis x, y;

  /// Empty where a value has no place on its axis.
  std::optional<Point> at(double x_value, double y_value) const;
};

std::string_view color_of(int color);

/// A line through so few points has a marker on each, however close they are.
inline constexpr std::size_t kFewPoints = 20;

/// How a marker looks: open ones stand on lines, filled ones are points.
enum class Mark { none, hollow, solid };

/// Whether a value of the curve has a place on axes of these scales, whatever they show.
bool drawable(const Panel& panel, const Curve& curve, std::size_t i);
bool drawable(const Panel& panel, const Curve& curve);

void add_band(std::string& out, const Curve& curve, const Frame& frame);

/// The curve itself. A line carries its colour's marker on some of its points when asked to, on all of them
/// where they have room; points always do.
void add_curve(std::string& out, const Curve& curve, const Frame& frame, bool markers);

/// The curve's sample in a legend: from `at` to the right, at half the height of the text.
inline constexpr double kKeyWidth = 17;
void add_key(std::string& out, const Curve& curve, Point at, Mark mark);

/// What the curve covers: its line with its markers, if it has them, or points and their error bars.
void add_ink(Ink& ink, const Curve& curve, const Frame& frame, bool markers = false);

/// The outline of the curve's band. A note may stand on a band, a legend may not.
void add_band_ink(Ink& ink, const Curve& curve, const Frame& frame);

}  // namespace largo::svg
