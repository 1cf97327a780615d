#include "report/svg_curves.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <initializer_list>
#include <iterator>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace largo::report {
namespace {

// Three colours of Okabe and Ito's palette for colour-blind readers, and four that are as far from them and
// from each other, whatever the reader's eyes. Unlike the rest of their palette, all have a contrast of at
// least 3 on paper. The page of reports uses the same (web/src/palette.ts), and a test of it measures all
// this.
constexpr std::array<std::string_view, 8> kPalette = {"#0072B2", "#D55E00", "#009E73", "#931D72",
                                                      "#605618", "#9C73F4", "#681404", "#000000"};
constexpr double kMarker = 1.9;         // half the height of a marker
constexpr double kMarkerStep = 34;      // between the markers on a line where not every point has one
constexpr double kMarkerRoom = 8;       // between points that each have a marker, if there are many
constexpr std::size_t kFewPoints = 20;  // lines with no more points have a marker on each, however close
constexpr double kMerged = 0.15;        // points of a line closer than this are drawn as one
constexpr std::string_view kPaper = "#fff";

using Polyline = std::vector<Point>;

double distance(Point a, Point b) { return std::sqrt((a.x - b.x) * (a.x - b.x) + (a.y - b.y) * (a.y - b.y)); }

// A point of a curve, and its band or bar from `high` to `low`.
struct Mark {
  Point at;
  double high = 0, low = 0;
};

// The pieces of the curve between values that have no place on the axes.
std::vector<std::vector<Mark>> pieces(const Curve& curve, const Frame& frame) {
  std::vector<std::vector<Mark>> out;
  const auto up = [&](double value) {
    return frame.plot.bottom - frame.plot.height() * frame.y.clamped_place(value);
  };
  bool broken = true;
  for (std::size_t i = 0; i < curve.x.size(); ++i) {
    const auto point = frame.at(curve.x[i], curve.y[i]);
    if (point && broken) out.emplace_back();
    if (point) out.back().push_back({*point, 0, 0});
    if (point && !curve.low.empty()) out.back().back() = {*point, up(curve.high[i]), up(curve.low[i])};
    broken = !point;
  }
  return out;
}

Polyline points_of(const std::vector<Mark>& piece) {
  Polyline points;
  for (const Mark& mark : piece) points.push_back(mark.at);
  return points;
}

template <typename... Arguments>
void add(std::string& out, fmt::format_string<Arguments...> format, Arguments&&... arguments) {
  fmt::format_to(std::back_inserter(out), format, std::forward<Arguments>(arguments)...);
}

std::string path_through(const Polyline& line) {
  std::string path;
  Point last;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (i > 0 && i + 1 < line.size() && distance(line[i], last) < kMerged) continue;
    add(path, "{}{} {}", i == 0 ? 'M' : 'L', number(line[i].x), number(line[i].y));
    last = line[i];
  }
  return path;
}

// The outline of the colour's marker, as a path. All have an inside, so that filled and open ones differ.
std::string marker_path(int color, Point p) {
  using Corners = std::vector<Point>;
  // With the circle there are seven shapes, so that with eight colours no pair of colour and marker occurs
  // twice among 56 numbers.
  static const std::array<Corners, 6> kShapes = {Corners{{-0.9, -0.9}, {0.9, -0.9}, {0.9, 0.9}, {-0.9, 0.9}},
                                                 Corners{{0, -1.2}, {1.15, 0.85}, {-1.15, 0.85}},
                                                 Corners{{0, -1.3}, {1.1, 0}, {0, 1.3}, {-1.1, 0}},
                                                 Corners{{0, 1.2}, {1.15, -0.85}, {-1.15, -0.85}},
                                                 Corners{{1.2, 0}, {-0.85, 1.15}, {-0.85, -1.15}},
                                                 Corners{{-1.2, 0}, {0.85, 1.15}, {0.85, -1.15}}};
  const auto shape = static_cast<std::size_t>(color) % (kShapes.size() + 1);
  if (shape == 0) {
    return fmt::format("M{0} {1}a{2} {2} 0 1 0 {3} 0a{2} {2} 0 1 0 -{3} 0z", number(p.x - kMarker),
                       number(p.y), number(kMarker), number(2 * kMarker));
  }
  Polyline corners;
  for (const Point c : kShapes[shape - 1]) corners.push_back({p.x + kMarker * c.x, p.y + kMarker * c.y});
  return path_through(corners) + 'z';
}

void add_markers(std::string& out, int color, const Polyline& places, std::string_view fill) {
  if (places.empty()) return;
  add(out, R"(<path fill="{}" stroke="{}" stroke-width="0.8" d=")", fill, color_of(color));
  for (const Point p : places) out += marker_path(color, p);
  out += "\"/>\n";
}

void add_stroke(std::string& out, const Curve& curve, std::string_view path) {
  const std::string_view stroke = curve.style == Curve::Style::dashed ? R"("1" stroke-dasharray="4 2")"
                                  : curve.style == Curve::Style::dotted
                                      ? R"("1.1" stroke-dasharray="1.1 1.9")"
                                      : R"("1.15")";
  add(out, "<path fill=\"none\" stroke=\"{}\" stroke-width={} stroke-linejoin=\"round\" d=\"{}\"/>\n",
      color_of(curve.color), stroke, path);
}

void add_filled(std::string& out, int color, const Polyline& outline) {
  add(out, "<path fill=\"{}\" fill-opacity=\"0.2\" d=\"{}z\"/>\n", color_of(color), path_through(outline));
}

void add_error_bars(std::string& out, int color, const std::vector<Mark>& marks) {
  add(out, R"(<path fill="none" stroke="{}" stroke-width="0.7" d=")", color_of(color));
  for (const Mark& mark : marks) {
    add(out, "M{} {}V{}", number(mark.at.x), number(mark.high), number(mark.low));
    for (const double y : {mark.high, mark.low}) add(out, "M{} {}h3", number(mark.at.x - 1.5), number(y));
  }
  out += "\"/>\n";
}

// Rectangles between two corners, filled like bands, with an edge.
void add_boxes(std::string& out, int color, const std::vector<std::pair<Point, Point>>& corners) {
  add(out, R"(<path fill="{0}" fill-opacity="0.2" stroke="{0}" stroke-width="0.5" d=")", color_of(color));
  for (const auto& [a, b] : corners)
    add(out, "M{} {}V{}H{}V{}z", number(a.x), number(a.y), number(b.y), number(b.x), number(a.y));
  out += "\"/>\n";
}

void add_bars(std::string& out, const Curve& curve, const Frame& frame) {
  std::vector<std::pair<Point, Point>> corners;
  const double half = bar_width(curve) / 2;
  for (std::size_t i = 0; i < curve.x.size(); ++i) {
    const auto foot = frame.at(curve.x[i] - half, 0), top = frame.at(curve.x[i] + half, curve.y[i]);
    if (foot && top) corners.emplace_back(*foot, *top);
  }
  if (!corners.empty()) add_boxes(out, curve.color, corners);
}

// The points of a line that carry a marker; never a place between them, since a marker says that something
// was computed there. All points have one if there is room, otherwise some of them, beginning at a different
// place for each colour, so that equal curves show both markers.
Polyline marker_places(const Polyline& line, int color) {
  bool roomy = true;
  for (std::size_t i = 1; i < line.size(); ++i)
    roomy = roomy && distance(line[i - 1], line[i]) >= kMarkerRoom;
  if (roomy || line.size() <= kFewPoints) return line;
  constexpr double kGolden = 0.381966;
  Polyline places;
  double wanted = kMarkerStep * (0.25 + std::fmod(kGolden * color, 1.0));
  Point last = line.front();
  for (const Point p : line) {
    if (distance(p, last) < wanted) continue;
    places.push_back(p);
    last = p;
    wanted = kMarkerStep;
  }
  return places;
}

template <typename Condition>
bool any_curve(const Panel& panel, const Condition& condition) {
  return std::any_of(panel.curves.begin(), panel.curves.end(), condition);
}

// A line has markers if it has few points, so that these are seen, or if there are lines of other colours;
// but not if the panel has points of its colour.
bool has_markers(const Panel& panel, const Curve& curve) {
  if (curve.style != Curve::Style::line) return false;
  const bool shown = any_curve(panel, [&](const Curve& other) {
    return other.style == Curve::Style::points && other.color == curve.color && other.x.size() > 1;
  });
  const bool alone = !any_curve(panel, [&](const Curve& other) {
    return other.style == Curve::Style::line && other.color != curve.color;
  });
  return !shown && (!alone || curve.x.size() <= kFewPoints);
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

double bar_width(const Curve& curve) {
  return curve.x.size() < 2 ? 1
                            : (curve.x.back() - curve.x.front()) / static_cast<double>(curve.x.size() - 1);
}

void add_band(std::string& out, const Curve& curve, const Frame& frame) {
  if (curve.style == Curve::Style::bars) return add_bars(out, curve, frame);
  if (curve.style == Curve::Style::points || curve.low.empty()) return;
  for (const std::vector<Mark>& piece : pieces(curve, frame)) {
    Polyline outline;
    for (const Mark& mark : piece) outline.push_back({mark.at.x, mark.high});
    for (auto mark = piece.rbegin(); mark != piece.rend(); ++mark) outline.push_back({mark->at.x, mark->low});
    add_filled(out, curve.color, outline);
  }
}

void add_curve(std::string& out, const Panel& panel, const Curve& curve, const Frame& frame) {
  if (curve.style == Curve::Style::bars) return;  // they are below the curves
  const bool points = curve.style == Curve::Style::points;
  std::string path;
  Polyline markers;
  for (const std::vector<Mark>& piece : pieces(curve, frame)) {
    const Polyline line = points_of(piece);
    if (points && !curve.low.empty()) add_error_bars(out, curve.color, piece);
    if (!points && line.size() > 1) path += path_through(line);
    // A line through a single point has no length and so no ink: it needs a marker.
    if (!points && line.size() > 1 && !has_markers(panel, curve)) continue;
    const Polyline more = points ? line : marker_places(line, curve.color);
    markers.insert(markers.end(), more.begin(), more.end());
  }
  if (!path.empty()) add_stroke(out, curve, path);
  add_markers(out, curve.color, markers, points ? color_of(curve.color) : kPaper);
}

void add_key(std::string& out, const Panel& panel, const Curve& curve, Point at) {
  const Point middle = {at.x + kKeyWidth / 2, at.y};
  if (curve.style == Curve::Style::points) {
    if (!curve.low.empty()) add_error_bars(out, curve.color, {{middle, middle.y - 3.2, middle.y + 3.2}});
    return add_markers(out, curve.color, {middle}, color_of(curve.color));
  }
  const double end = at.x + kKeyWidth;
  if (curve.style == Curve::Style::bars)
    return add_boxes(out, curve.color, {{{at.x, at.y + 2.5}, {end, at.y - 2.5}}});
  if (!curve.low.empty()) {
    add_filled(out, curve.color,
               {{at.x, at.y - 2.5}, {end, at.y - 2.5}, {end, at.y + 2.5}, {at.x, at.y + 2.5}});
  }
  add_stroke(out, curve, fmt::format("M{} {}h{}", number(at.x), number(at.y), number(kKeyWidth)));
  // A line whose points have no legend entry of their own is shown with their marker.
  const bool with_points = any_curve(panel, [&](const Curve& other) {
    return other.style == Curve::Style::points && other.color == curve.color && other.label.empty();
  });
  if (has_markers(panel, curve)) {
    add_markers(out, curve.color, {middle}, kPaper);
  } else if (with_points && curve.style == Curve::Style::line) {
    add_markers(out, curve.color, {middle}, color_of(curve.color));
  }
}

}  // namespace largo::report
