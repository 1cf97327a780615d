#include "report/figure_curves.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <iterator>

#include <fmt/format.h>

namespace largo::svg {
namespace {

// Three colours of Okabe and Ito's palette for colour-blind readers and four that are as far from them and
// from each other, whatever the reader's eyes; unlike the rest of theirs all have a contrast of 3 and more on
// paper. The page of reports has the same (web/src/palette.ts), and a test of it measures all this.
constexpr std::array<std::string_view, 8> kPalette = {"#0072B2", "#D55E00", "#009E73", "#931D72",
                                                      "#605618", "#9C73F4", "#681404", "#000000"};
constexpr double kMarker = 1.9;     // half the height of a marker
constexpr double kMarkerStep = 34;  // between the markers on a line, along it, where not all points have one
constexpr double kMostMarkers = 7;  // on one such piece of a line
constexpr double kMarkerRoom = 8;   // between points that each have one, where there are many
constexpr double kMerged = 0.15;    // points of a line that are nearer are drawn as one

using Polyline = std::vector<Point>;

// The pieces of the curve between values without a place.
std::vector<Polyline> pieces(const Curve& curve, const Frame& frame) {
  std::vector<Polyline> out;
  bool broken = true;
  for (std::size_t i = 0; i < curve.x.size(); ++i) {
    const auto point = frame.at(curve.x[i], curve.y[i]);
    if (point && broken) out.emplace_back();
    if (point) out.back().push_back(*point);
    broken = !point;
  }
  return out;
}

// The band at point i: from its top to its bottom. Empty where the point, or the whole band, has no place.
std::optional<Box> bar(const Curve& curve, std::size_t i, const Frame& frame) {
  const auto point = frame.at(curve.x[i], curve.y[i]);
  if (!point || curve.low.empty()) return std::nullopt;
  const double height = frame.plot.height();
  return Box{point->x, frame.plot.bottom - height * frame.y.clamped_place(curve.high[i]), point->x,
             frame.plot.bottom - height * frame.y.clamped_place(curve.low[i])};
}

std::vector<std::vector<Box>> band_pieces(const Curve& curve, const Frame& frame) {
  std::vector<std::vector<Box>> out;
  bool broken = true;
  for (std::size_t i = 0; i < curve.x.size(); ++i) {
    const auto piece = bar(curve, i, frame);
    if (piece && broken) out.emplace_back();
    if (piece) out.back().push_back(*piece);
    broken = !piece;
  }
  return out;
}

void add_point(std::string& out, char command, Point p) {
  fmt::format_to(std::back_inserter(out), "{}{} {}", command, number(p.x), number(p.y));
}

std::string path_through(const Polyline& line) {
  std::string path;
  Point last;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (i > 0 && i + 1 < line.size() && distance(line[i], last) < kMerged) continue;
    add_point(path, i == 0 ? 'M' : 'L', line[i]);
    last = line[i];
  }
  return path;
}

// The outline of the colour's marker, as a path. All have an inside, so that solid and hollow ones differ.
std::string marker_path(int color, Point p) {
  const auto shape = [&](std::initializer_list<Point> corners) {
    std::string path;
    for (const Point corner : corners) {
      add_point(path, path.empty() ? 'M' : 'L', {p.x + kMarker * corner.x, p.y + kMarker * corner.y});
    }
    return path + 'z';
  };
  // Seven, so that with eight colours no pair of colour and marker comes twice among 56 numbers.
  switch (color % 7) {
    case 0:
      return fmt::format("M{0} {1}a{2} {2} 0 1 0 {3} 0a{2} {2} 0 1 0 -{3} 0z", number(p.x - kMarker),
                         number(p.y), number(kMarker), number(2 * kMarker));
    case 1:
      return shape({{-0.9, -0.9}, {0.9, -0.9}, {0.9, 0.9}, {-0.9, 0.9}});
    case 2:
      return shape({{0, -1.2}, {1.15, 0.85}, {-1.15, 0.85}});
    case 3:
      return shape({{0, -1.3}, {1.1, 0}, {0, 1.3}, {-1.1, 0}});
    case 4:
      return shape({{0, 1.2}, {1.15, -0.85}, {-1.15, -0.85}});
    case 5:
      return shape({{1.2, 0}, {-0.85, 1.15}, {-0.85, -1.15}});
    default:
      return shape({{-1.2, 0}, {0.85, 1.15}, {0.85, -1.15}});
  }
}

void add_markers(std::string& out, int color, const Polyline& places, Mark mark) {
  if (places.empty() || mark == Mark::none) return;
  fmt::format_to(std::back_inserter(out), R"(<path fill="{}" stroke="{}" stroke-width="0.8" d=")",
                 mark == Mark::solid ? color_of(color) : "#fff", color_of(color));
  for (const Point p : places) out += marker_path(color, p);
  out += "\"/>\n";
}

// How far each point lies from the first, along the line.
std::vector<double> walked_along(const Polyline& line) {
  std::vector<double> walked(line.size());
  for (std::size_t i = 1; i < line.size(); ++i) walked[i] = walked[i - 1] + distance(line[i - 1], line[i]);
  return walked;
}

// Which points of a line carry a marker; never a place between them, since a marker says that something was
// computed there. All of them where they have room, else some, about evenly along the line and beginning
// elsewhere for each colour, so that equal curves show both markers.
Polyline marker_places(const Polyline& line, int color) {
  const std::vector<double> walked = walked_along(line);
  bool roomy = true;
  for (std::size_t i = 1; i < line.size(); ++i)
    roomy = roomy && distance(line[i - 1], line[i]) >= kMarkerRoom;
  if (roomy || line.size() <= kFewPoints) return line;
  constexpr double kGolden = 0.381966;
  const double length = walked.back();
  const double every = std::max(kMarkerStep, length / kMostMarkers);
  double next = every * (0.25 + std::fmod(kGolden * color, 1.0));
  if (length < next + every / 4) next = length / 2;
  Polyline places;
  for (std::size_t i = 0; next <= length; next += every) {
    const std::size_t before = i;
    while (i + 1 < line.size() && std::abs(walked[i + 1] - next) <= std::abs(walked[i] - next)) ++i;
    if (places.empty() || i > before) places.push_back(line[i]);
  }
  return places;
}

std::string_view stroke_of(Curve::Style style) {
  switch (style) {
    case Curve::Style::dashed:
      return R"(stroke-width="1" stroke-dasharray="4 2")";
    case Curve::Style::dotted:
      return R"(stroke-width="1.1" stroke-dasharray="1.1 1.9")";
    default:
      return R"(stroke-width="1.15")";
  }
}

void add_stroke(std::string& out, const Curve& curve, std::string_view path) {
  fmt::format_to(std::back_inserter(out),
                 R"(<path fill="none" stroke="{}" {} stroke-linejoin="round" d="{}"/>)"
                 "\n",
                 color_of(curve.color), stroke_of(curve.style), path);
}

void add_bars(std::string& out, int color, const std::vector<Box>& bars) {
  if (bars.empty()) return;
  fmt::format_to(std::back_inserter(out), R"(<path fill="none" stroke="{}" stroke-width="0.7" d=")",
                 color_of(color));
  for (const Box& b : bars) {
    fmt::format_to(std::back_inserter(out), "M{} {}V{}", number(b.left), number(b.top), number(b.bottom));
    for (const double y : {b.top, b.bottom}) {
      fmt::format_to(std::back_inserter(out), "M{} {}h3", number(b.left - 1.5), number(y));
    }
  }
  out += "\"/>\n";
}

}  // namespace

std::optional<Point> Frame::at(double x_value, double y_value) const {
  const auto along = x.place(x_value), up = y.place(y_value);
  if (!along || !up) return std::nullopt;
  return Point{plot.left + *along * plot.width(), plot.bottom - *up * plot.height()};
}

std::string_view color_of(int color) { return kPalette[static_cast<std::size_t>(color) % kPalette.size()]; }

bool drawable(const Panel& panel, const Curve& curve, std::size_t i) {
  const auto has_place = [](bool log, double value) { return std::isfinite(value) && (!log || value > 0); };
  return has_place(panel.log_x, curve.x[i]) && has_place(panel.log_y, curve.y[i]);
}

bool drawable(const Panel& panel, const Curve& curve) {
  for (std::size_t i = 0; i < curve.x.size(); ++i) {
    if (drawable(panel, curve, i)) return true;
  }
  return false;
}

void add_band(std::string& out, const Curve& curve, const Frame& frame) {
  if (curve.style == Curve::Style::points || curve.low.empty()) return;
  for (const std::vector<Box>& piece : band_pieces(curve, frame)) {
    Polyline outline, lower;
    for (const Box& b : piece) {
      outline.push_back({b.left, b.top});
      lower.push_back({b.left, b.bottom});
    }
    outline.insert(outline.end(), lower.rbegin(), lower.rend());
    fmt::format_to(std::back_inserter(out),
                   R"(<path fill="{}" fill-opacity="0.2" d="{}z"/>)"
                   "\n",
                   color_of(curve.color), path_through(outline));
  }
}

void add_curve(std::string& out, const Curve& curve, const Frame& frame, bool markers) {
  const std::vector<Polyline> lines = pieces(curve, frame);
  Polyline places;
  if (curve.style == Curve::Style::points) {
    for (const Polyline& line : lines) places.insert(places.end(), line.begin(), line.end());
    std::vector<Box> bars;
    for (const auto& piece : band_pieces(curve, frame)) bars.insert(bars.end(), piece.begin(), piece.end());
    add_bars(out, curve.color, bars);
    add_markers(out, curve.color, places, Mark::solid);
    return;
  }
  std::string path;
  for (const Polyline& line : lines) {
    if (line.size() > 1) path += path_through(line);
    // A point alone would have no length and so no ink.
    if (markers || line.size() == 1) {
      const Polyline more = marker_places(line, curve.color);
      places.insert(places.end(), more.begin(), more.end());
    }
  }
  if (!path.empty()) add_stroke(out, curve, path);
  add_markers(out, curve.color, places, Mark::hollow);
}

void add_key(std::string& out, const Curve& curve, Point at, Mark mark) {
  const Point middle = {at.x + kKeyWidth / 2, at.y};
  if (curve.style == Curve::Style::points) {
    if (!curve.low.empty())
      add_bars(out, curve.color, {{middle.x, middle.y - 3.2, middle.x, middle.y + 3.2}});
    add_markers(out, curve.color, {middle}, Mark::solid);
    return;
  }
  if (!curve.low.empty()) {
    fmt::format_to(std::back_inserter(out),
                   R"(<path fill="{}" fill-opacity="0.2" d="M{} {}h{}v5h-{}z"/>)"
                   "\n",
                   color_of(curve.color), number(at.x), number(at.y - 2.5), number(kKeyWidth),
                   number(kKeyWidth));
  }
  add_stroke(out, curve, fmt::format("M{} {}h{}", number(at.x), number(at.y), number(kKeyWidth)));
  add_markers(out, curve.color, {middle}, mark);
}

void add_ink(Ink& ink, const Curve& curve, const Frame& frame, bool markers) {
  const auto add_marker = [&](Point p) {
    ink.add_segment({p.x - kMarker, p.y - kMarker}, {p.x + kMarker, p.y + kMarker});
    ink.add_segment({p.x - kMarker, p.y + kMarker}, {p.x + kMarker, p.y - kMarker});
  };
  if (curve.style != Curve::Style::points) {
    for (const Polyline& line : pieces(curve, frame)) {
      for (std::size_t i = 0; i < line.size(); ++i) ink.add_segment(line[i > 0 ? i - 1 : 0], line[i]);
      if (!markers && line.size() > 1) continue;
      for (const Point place : marker_places(line, curve.color)) add_marker(place);
    }
    return;
  }
  for (std::size_t i = 0; i < curve.x.size(); ++i) {
    if (const auto point = frame.at(curve.x[i], curve.y[i])) add_marker(*point);
    if (const auto line = bar(curve, i, frame))
      ink.add_segment({line->left, line->top}, {line->left, line->bottom});
  }
}

void add_band_ink(Ink& ink, const Curve& curve, const Frame& frame) {
  if (curve.style == Curve::Style::points) return;
  for (const std::vector<Box>& piece : band_pieces(curve, frame)) {
    for (std::size_t i = 0; i < piece.size(); ++i) {
      const Box& here = piece[i];
      const Box& before = piece[i > 0 ? i - 1 : 0];
      ink.add_segment({here.left, here.top}, {here.left, here.bottom});
      ink.add_segment({before.left, before.top}, {here.left, here.top});
      ink.add_segment({before.left, before.bottom}, {here.left, here.bottom});
    }
  }
}

}  // namespace largo::svg
