// Figures for papers, as SVG text: panels with curves, error bands and sampled points.
//
// Panels stand side by side, at most three in a row, 6.5 inches wide together (a single panel is 4.3 inches
// wide), with one legend below them. Colours are safe for colour-blind readers, and each colour has its own
// marker, so that curves can be told apart in black-and-white print.
#pragma once

#include <string>
#include <vector>

namespace largo {

/// A curve through (x[i], y[i]). Only these points have markers: filled ones for points, open ones for lines
/// that must be told apart or have few points. The curve is broken where a value has no place in the panel:
/// where it is infinite, or not positive on a logarithmic axis. low and high (both or neither) are a band
/// around the curve, or the error bars of points; they end at the edge of the panel. Bars stand on zero,
/// around evenly spaced x, and touch: their panel has two linear axes, and they have no low and high.
struct Curve {
  enum class Style { line, dashed, dotted, points, bars };

  std::string label = {};  ///< text in the legend; empty: no entry
  std::vector<double> x = {}, y = {};
  std::vector<double> low = {}, high = {};
  Style style = Style::line;
  int color = 0;          ///< number of colour and marker, the same in all panels; 7 is black, 8 is 0 again
  std::string note = {};  ///< a few characters at the right end of the curve, such as its slope

  void add(double at, double value) {
    x.push_back(at);
    y.push_back(value);
  }
};

struct Panel {
  std::string title = {}, x_label = {}, y_label = {};
  bool log_x = true, log_y = true;
  std::vector<Curve> curves = {};
};

struct Figure {
  std::vector<Panel> panels = {};
  std::string caption = {};  ///< below the panels, read out by screen readers; empty: they read the titles
};

/// The figure as a complete SVG document, which depends only on the figure: it has the same bytes on every
/// machine. Texts may contain any UTF-8 (what is not UTF-8, or not allowed in XML, becomes U+FFFD). Values
/// from 5e-324 to 1.8e308 can be shown. Coordinates have two decimals, and points closer than can be seen are
/// merged. InputError: no panel, a panel without curves, x and y (or low, high) of different sizes, NaN, a
/// negative colour, bars that are not as Curve says.
std::string to_svg(const Figure& figure);

}  // namespace largo
