// Figures for papers, as SVG text: panels with curves, error bands, sampled points and short notes.
//
// Panels stand side by side, three in a row at most, 6.5 inches wide (a single panel is 4.3 inches wide).
// Colours are safe for colour-blind readers; a marker for each colour tells the curves apart in
// black-and-white print. The legend stands in corners where it covers nothing, else below the panels; an
// entry that an earlier panel has is not repeated. The text is a function of the figure alone: no locale, no
// date, the same bytes on every machine.
#pragma once

#include <string>
#include <vector>

namespace largo {

/// A curve through (x[i], y[i]). Markers stand on these points only: filled ones on points, open ones on
/// lines that must be told apart or have few points. The curve is broken where a value has no place:
/// infinite, or not positive on a logarithmic axis. NaN throws InputError. low and high, both or neither, are
/// a band around the curve, or the error bars of points; they end at the edge of the panel.
struct Curve {
  enum class Style { line, dashed, dotted, points };

  std::string label = {};  ///< in the legend; empty: not in it
  std::vector<double> x = {}, y = {};
  std::vector<double> low = {}, high = {};
  Style style = Style::line;
  int color = 0;  ///< the same number is the same colour and marker in all panels; 7 is black, 8 is 0 again
};

/// A short text beside the point (x, y), such as the slope of a curve; it is moved up or down, and along the
/// curve of its colour through the point if there is one, to where it covers no other note and, if possible,
/// no curve. A note without a place in the panel (see Curve) is left out.
struct Note {
  double x = 0, y = 0;
  std::string text;
  int color = 0;
};

struct Panel {
  std::string title = {}, x_label = {}, y_label = {};
  bool log_x = true, log_y = true;
  std::vector<Curve> curves = {};
  std::vector<Note> notes = {};
};

struct Figure {
  std::vector<Panel> panels = {};
  std::string caption = {};  ///< below the panels, and what a screen reader says; empty: the titles are said
};

}  // namespace largo
