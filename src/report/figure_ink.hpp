// Which parts of a plot are covered, for those who look for an empty place.
#pragma once

#include <cstddef>
#include <vector>

#include "report/figure_svg.hpp"

namespace largo::svg {

/// What of a plot is covered already, in squares of a point, so that the cost does not grow with the curves.
class Ink {
 public:
  explicit Ink(const Box& plot);

  void add(Point at);
  void add_segment(Point from, Point to);

  /// The squares that touch the box and are covered.
  int beneath(const Box& box) const;

 private:
  std::ptrdiff_t column(double x) const;
  std::ptrdiff_t row(double y) const;

  Box plot_;
  std::ptrdiff_t columns_, rows_;
  std::vector<bool> covered_;
};

}  // namespace largo::svg
