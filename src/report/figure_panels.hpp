// Where the panels stand on the page, and their axes.
#pragma once

#include <string>
#include <vector>

#include "largo/report/figure.hpp"
#include "report/figure_curves.hpp"

namespace largo::svg {

inline constexpr double kPageMargin = 3;

struct PlacedPanel {
  Frame frame;
  std::vector<std::string> title, x_label, y_label;  ///< in lines that fit
  double label_left = 0;                             ///< where the label of the y axis may begin
};

struct Page {
  double width = 0;
  double height = 0;  ///< of the panels
  std::vector<PlacedPanel> panels;
};

/// Panels row by row, all plots of one size and aligned; each column has the left margin that its labels
/// need.
Page lay_out(const Figure& figure);

/// Grid, axes, ticks and labels; a panel without a value to draw says so.
void add_axes(std::string& out, const Panel& panel, const PlacedPanel& placed);

}  // namespace largo::svg
