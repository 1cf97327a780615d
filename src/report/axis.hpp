// An axis of a figure: which values it shows, where each is placed, and which are marked.
#pragma once

#include <algorithm>
#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace largo::report {

/// The least and the greatest of the values included; if there are none, lowest > highest.
struct Extent {
  double lowest = std::numeric_limits<double>::infinity();
  double highest = -std::numeric_limits<double>::infinity();

  bool empty() const { return lowest > highest; }
  void include(double value) {
    lowest = std::min(lowest, value);
    highest = std::max(highest, value);
  }
};

/// What is written at a tick: 0.02, or 10 with the raised exponent −2.
struct TickLabel {
  std::string text, power;
};

struct Tick {
  double place = 0;  ///< from 0 at the beginning of the axis to 1 at its end
  TickLabel label;
};

struct Axis {
  bool log = false;
  int unit = 0;                ///< labels show value / 10^unit
  double first = 0, last = 1;  ///< the ends: log10 of the value, or value / 10^unit
  std::vector<Tick> ticks;     ///< from first to last; their labels do not touch
  std::vector<double> minor;   ///< places of the small ticks, excluding those of `ticks`
  TickLabel factor;            ///< ×10^unit at the end of the axis, or empty

  /// Empty if the value has no place: if it is infinite, NaN, or not positive on a logarithmic axis.
  std::optional<double> place(double value) const;

  /// The place, or the end of the axis that is nearer to the value (which must not be NaN).
  double clamped_place(double value) const;
};

/// How much room the labels of an axis have.
struct AxisRoom {
  double length = 0;  ///< length of the axis, in points
  bool vertical = false;
};

/// An axis that shows all values with a little room beside them, and the bands, which stretch a logarithmic
/// axis at each end by at most a decade or a quarter of the values' decades, whichever is more. Values that
/// agree to 1e-4 are shown as one. Only values that have a place may be included in the extents; without
/// values, the axis runs from 1 to 10.
///
/// Ticks are at whole decades, in steps of 1, 2, 3, 5, 10, 20, 50, 100 or 200; if there are not two of these,
/// at 1, 2, 5 or 1, 3 times powers of ten; if there are not three of those, as on a linear axis, in steps of
/// 1, 2 or 5 times a power of ten.
Axis make_axis(bool log, const AxisRoom& room, const Extent& values, const Extent& bands = {});

/// n 10^exponent in decimal, exactly, without an exponent: decimal(-25, -3) is −0.025.
std::string decimal(long long n, int exponent);

}  // namespace largo::report
