// Figures for papers, as SVG text: panels with curves, error bands, sampled points and short notes.
//
// Panels stand side by side, at most three in a row, 6.5 inches wide together (a single panel is 4.3 inches
// wide). Colours are safe for colour-blind readers, and each colour has its own marker, so that curves can be
// told apart in black-and-white print. The legend is placed in corners where it covers nothing, or else below
// the panels; it does not repeat entries of an earlier panel. The text depends only on the figure: it uses no
// locale and no date, and has the same bytes on every machine.
#pragma once

#include <string>
#include <vector>

namespace largo {

/// A curve through (x[i], y[i]). Only these points have markers: filled ones for points, open ones for lines
/// that must be told apart or have few points. The curve is broken where a value has no place in the panel:
/// where it is infinite, or not positive on a logarithmic axis. NaN throws InputError. low and high (both or
/// neither) are a band around the curve, or the error bars of points; they end at the edge of the panel.
struct Curve {
  enum class Style { line, dashed, dotted, points };

  std::string label = {};  ///< text in the legend; empty: no entry
  std::vector<double> x = {}, y = {};
  std::vector<double> low = {}, high = {};
  Style style = Style::line;
  int color = 0;  ///< number of colour and marker, the same in all panels; 7 is black, 8 is 0 again
};

/// A short text beside the point (x, y), such as the slope of a curve. It is moved up or down, and along the
/// curve of its colour through the point if there is one, so that it covers no other note and, if possible,
/// no curve. A note whose point has no place in the panel (see Curve) is left out.
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
  std::string caption = {};  ///< below the panels, read out by screen readers; empty: they read the titles
};

}  // namespace largo
