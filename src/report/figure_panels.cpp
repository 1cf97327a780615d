#include "report/figure_panels.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <iterator>

#include <fmt/format.h>

namespace largo::svg {
namespace {

// By the number of columns: one, two or three.
constexpr std::array<double, 3> kWidths = {312, 468, 468};
constexpr std::array<double, 3> kPlotHeights = {184, 146, 112};
constexpr double kTick = 3;  // length of a tick
constexpr double kSmallTick = 1.7;
constexpr double kTickGap = 2;   // between a tick and its label
constexpr double kLabelGap = 3;  // between tick labels and the name of the y axis
constexpr double kNameGap = 1;   // the same, x axis
constexpr double kTitleGap = 4;  // between a title and the plot
constexpr double kRight = 7;     // for the half of the last label that stands out
constexpr double kRowGap = 8;
constexpr double kCapHeight = 0.73;  // of the size
constexpr std::string_view kGrid = "#e4e4e4";

double lines_height(const std::vector<std::string>& lines, double size) {
  return size * kLineHeight * static_cast<double>(lines.size());
}

Axis axis_of(const Panel& panel, Direction direction, double length) {
  const bool horizontal = direction == Direction::horizontal;
  const bool log = horizontal ? panel.log_x : panel.log_y;
  Extent values, bands;
  for (const Curve& curve : panel.curves) {
    for (std::size_t i = 0; i < curve.x.size(); ++i) {
      if (!drawable(panel, curve, i)) continue;
      values.include(horizontal ? curve.x[i] : curve.y[i]);
      if (horizontal || curve.low.empty()) continue;
      for (const double end : {curve.low[i], curve.high[i]}) {
        if (std::isfinite(end) && (!log || end > 0)) bands.include(end);
      }
    }
  }
  Axis axis = make_axis(log ? Scale::log : Scale::linear, direction, length, values, bands);
  if (values.empty()) axis.ticks.clear(), axis.minor.clear();  // they would measure nothing
  return axis;
}

double widest_label(const Axis& axis) {
  double width = 0;
  for (const Tick& tick : axis.ticks) width = std::max(width, tick.label.width());
  return width;
}

double left_margin(const PlacedPanel& placed) {
  const double name = placed.y_label.empty() ? 0 : lines_height(placed.y_label, kLabelSize) + kLabelGap;
  return name + widest_label(placed.frame.y) + kTickGap + kTick;
}

double top_margin(const PlacedPanel& placed) {
  const double factor = placed.frame.y.factor.text.empty() ? 0 : kTickSize * kLineHeight;
  return factor + lines_height(placed.title, kTitleSize) + kTitleGap;
}

double bottom_margin(const PlacedPanel& placed) {
  const double factor = placed.frame.x.factor.text.empty() ? 0 : kTickSize * kLineHeight;
  const double name = placed.x_label.empty() ? 0 : lines_height(placed.x_label, kLabelSize) + kNameGap;
  return kTick + kTickGap + kTickSize * kLineHeight + factor + name;
}

void add_grid(std::string& out, const Frame& frame) {
  if (frame.x.ticks.empty() && frame.y.ticks.empty()) return;
  const Box& plot = frame.plot;
  fmt::format_to(std::back_inserter(out), R"(<path fill="none" stroke="{}" stroke-width="0.4" d=")", kGrid);
  for (const Tick& tick : frame.x.ticks) {
    fmt::format_to(std::back_inserter(out), "M{} {}V{}", number(plot.left + tick.place * plot.width()),
                   number(plot.top), number(plot.bottom));
  }
  for (const Tick& tick : frame.y.ticks) {
    fmt::format_to(std::back_inserter(out), "M{} {}H{}", number(plot.left),
                   number(plot.bottom - tick.place * plot.height()), number(plot.right));
  }
  out += "\"/>\n";
}

void add_axis_lines(std::string& out, const Frame& frame) {
  const Box& plot = frame.plot;
  fmt::format_to(std::back_inserter(out),
                 R"(<path fill="none" stroke="{}" stroke-width="0.5" d="M{} {}V{}H{})", kInk,
                 number(plot.left), number(plot.top), number(plot.bottom), number(plot.right));
  const auto x_tick = [&](double place, double length) {
    fmt::format_to(std::back_inserter(out), "M{} {}v{}", number(plot.left + place * plot.width()),
                   number(plot.bottom), number(length));
  };
  const auto y_tick = [&](double place, double length) {
    fmt::format_to(std::back_inserter(out), "M{} {}h-{}", number(plot.left),
                   number(plot.bottom - place * plot.height()), number(length));
  };
  for (const Tick& tick : frame.x.ticks) x_tick(tick.place, kTick);
  for (const double place : frame.x.minor) x_tick(place, kSmallTick);
  for (const Tick& tick : frame.y.ticks) y_tick(tick.place, kTick);
  for (const double place : frame.y.minor) y_tick(place, kSmallTick);
  out += "\"/>\n";
}

void add_tick_labels(std::string& out, const Frame& frame) {
  const Box& plot = frame.plot;
  TextStyle style;
  style.anchor = Anchor::middle;
  const double below = plot.bottom + kTick + kTickGap + kTickSize * kCapHeight;
  for (const Tick& tick : frame.x.ticks) {
    add_text(out, {plot.left + tick.place * plot.width(), below}, style, tick.label.text, tick.label.power);
  }
  style.anchor = Anchor::end;
  for (const Tick& tick : frame.y.ticks) {
    const double y = plot.bottom - tick.place * plot.height() + kTickSize * kCapHeight / 2;
    add_text(out, {plot.left - kTick - kTickGap, y}, style, tick.label.text, tick.label.power);
  }
  if (!frame.x.factor.text.empty()) {
    add_text(out, {plot.right, below + kTickSize * kLineHeight}, style, frame.x.factor.text,
             frame.x.factor.power);
  }
  style.anchor = Anchor::start;
  if (!frame.y.factor.text.empty()) {
    add_text(out, {plot.left, plot.top - 3}, style, frame.y.factor.text, frame.y.factor.power);
  }
}

void add_names(std::string& out, const PlacedPanel& placed) {
  const Box& plot = placed.frame.plot;
  const Point centre = {(plot.left + plot.right) / 2, (plot.top + plot.bottom) / 2};
  TextStyle style;
  style.anchor = Anchor::middle;
  style.size = kTitleSize;
  style.widest = plot.width() + 2 * kRight;
  add_lines(out, {centre.x, plot.top - top_margin(placed) + kTitleSize}, style, placed.title);
  style.size = kLabelSize;
  add_lines(
      out,
      {centre.x, plot.bottom + bottom_margin(placed) - lines_height(placed.x_label, kLabelSize) + kLabelSize},
      style, placed.x_label);
  style.upwards = true;
  style.widest = plot.height() * 1.15;
  add_lines(out, {placed.label_left + kLabelSize, centre.y}, style, placed.y_label);
}

}  // namespace

Page lay_out(const Figure& figure) {
  const std::size_t columns = std::min<std::size_t>(figure.panels.size(), 3);
  const double height = kPlotHeights[columns - 1];
  Page page;
  page.width = kWidths[columns - 1];

  std::vector<double> left(columns);
  for (std::size_t i = 0; i < figure.panels.size(); ++i) {
    PlacedPanel& placed = page.panels.emplace_back();
    placed.frame.y = axis_of(figure.panels[i], Direction::vertical, height);
    placed.y_label = wrapped(figure.panels[i].y_label, kLabelSize, height * 1.15);
    left[i % columns] = std::max(left[i % columns], left_margin(placed) + kPageMargin);
  }
  double room = page.width;
  for (const double margin : left) room -= margin + kRight;
  const double width = room / static_cast<double>(columns);

  for (std::size_t row = 0; row < figure.panels.size(); row += columns) {
    const std::size_t end = std::min(row + columns, figure.panels.size());
    double top = 0, bottom = 0, x = 0;
    for (std::size_t i = row; i < end; ++i) {
      PlacedPanel& placed = page.panels[i];
      placed.frame.x = axis_of(figure.panels[i], Direction::horizontal, width);
      placed.title = wrapped(figure.panels[i].title, kTitleSize, width + 2 * kRight);
      placed.x_label = wrapped(figure.panels[i].x_label, kLabelSize, width + 2 * kRight);
      top = std::max(top, top_margin(placed) + (row == 0 ? kPageMargin : kRowGap));
      bottom = std::max(bottom, bottom_margin(placed));
    }
    for (std::size_t i = row; i < end; ++i) {
      const double margin = left[i - row];
      PlacedPanel& placed = page.panels[i];
      placed.frame.plot = {x + margin, page.height + top, x + margin + width, page.height + top + height};
      placed.label_left = placed.frame.plot.left - left_margin(placed);
      x += margin + width + kRight;
    }
    page.height += top + height + bottom;
  }
  return page;
}

void add_axes(std::string& out, const Panel& panel, const PlacedPanel& placed) {
  add_grid(out, placed.frame);
  add_axis_lines(out, placed.frame);
  add_tick_labels(out, placed.frame);
  add_names(out, placed);
  const bool empty = std::none_of(panel.curves.begin(), panel.curves.end(),
                                  [&](const Curve& curve) { return drawable(panel, curve); });
  if (!empty) return;
  const Box& plot = placed.frame.plot;
  TextStyle style;
  style.size = kLabelSize;
  style.anchor = Anchor::middle;
  add_text(out, {(plot.left + plot.right) / 2, (plot.top + plot.bottom) / 2}, style, "no values to draw");
}

}  // namespace largo::svg
