#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <iterator>

#include <fmt/format.h>

#include "io/text.hpp"
#include "largo/report/figure.hpp"
#include "largo/runtime/check.hpp"
#include "report/svg_curves.hpp"

namespace largo {
namespace {

using namespace report;

// Indexed by the number of columns: one, two or three.
constexpr std::array<double, 3> kWidths = {312, 468, 468};
constexpr std::array<double, 3> kPlotHeights = {184, 146, 112};
constexpr double kMargin = 3;  // of the page
constexpr double kTick = 3;    // length of a tick
constexpr double kSmallTick = 1.7;
constexpr double kTickGap = 2;      // between a tick and its label
constexpr double kAxisNameGap = 3;  // between tick labels and the name of the y axis
constexpr double kTitleGap = 4;     // between a title and the plot
constexpr double kRowGap = 8;
constexpr double kRight = 6;      // to the right of a plot without notes
constexpr double kNoteStep = 7;   // between notes one above another
constexpr double kKeyGap = 3;     // between a sample in the legend and its text
constexpr double kEntryGap = 12;  // between entries of the legend
constexpr double kLegendLine = 9;
constexpr double kCaptionGap = 7;
constexpr double kNameRoom = 1.15;  // the name of an axis may be longer than the axis
constexpr std::string_view kGrid = "#e4e4e4";

void check_values(std::string_view what, const std::string& curve, const std::vector<double>& values,
                  std::size_t size) {
  check_size("to_svg", fmt::format("{} of {}", what, curve), std::ssize(values),
             static_cast<std::ptrdiff_t>(size));
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (std::isnan(values[i]))
      fail("to_svg", fmt::format("{}[{}] of {}", what, i, curve), values[i], "a number");
  }
}

void check_bars(const Panel& panel, const Curve& curve, const std::string& name) {
  if (panel.log_x || panel.log_y) fail("to_svg", fmt::format("{} has bars, which need linear axes", name));
  if (!curve.low.empty()) fail("to_svg", fmt::format("{} has bars, which have no low and high", name));
  constexpr double kSame = 1e-6;  // of a width, for rounding
  const double width = bar_width(curve);
  for (std::size_t i = 1; i < curve.x.size(); ++i) {
    if (!(width > 0 && std::abs(curve.x[i] - curve.x[i - 1] - width) <= kSame * width))
      fail("to_svg", fmt::format("x[{}] of {}", i, name), curve.x[i],
           "evenly spaced and increasing, for bars");
  }
}

void check_panel(const Panel& panel) {
  const std::string title = io::one_line(panel.title);
  if (panel.curves.empty()) fail("to_svg", fmt::format("panel '{}' has no curves", title));
  for (std::size_t i = 0; i < panel.curves.size(); ++i) {
    const Curve& curve = panel.curves[i];
    const std::string name = curve.label.empty() ? fmt::format("curve {} of panel '{}'", i + 1, title)
                                                 : fmt::format("curve '{}'", io::one_line(curve.label));
    check_values("x", name, curve.x, curve.x.size());
    check_values("y", name, curve.y, curve.x.size());
    const bool band = !curve.low.empty() || !curve.high.empty();
    check_values("low", name, curve.low, band ? curve.x.size() : 0);
    check_values("high", name, curve.high, band ? curve.x.size() : 0);
    if (curve.style == Curve::Style::bars) check_bars(panel, curve, name);
    if (curve.color < 0) fail("to_svg", fmt::format("color of {}", name), curve.color, "non-negative");
  }
}

// A panel on the page, with its texts broken into lines that fit.
struct PlacedPanel {
  const Panel* panel = nullptr;
  Frame frame;
  std::vector<std::string> title, x_label, y_label;

  double left() const {
    double width = 0;
    for (const Tick& tick : frame.y.ticks)
      width = std::max(width, text_width(tick.label.text, tick.label.power, kTickSize));
    const double name = y_label.empty() ? 0 : lines_height(y_label, kLabelSize) + kAxisNameGap;
    return name + width + kTickGap + kTick;
  }

  double right() const {
    double width = 0;
    for (const Curve& curve : panel->curves) width = std::max(width, text_width(curve.note, kNoteSize));
    return width > 0 ? width + kRight : kRight;
  }

  double top() const {
    const double factor = frame.y.factor.text.empty() ? 0 : kTickSize * kLineHeight;
    return factor + lines_height(title, kTitleSize) + kTitleGap;
  }

  double bottom() const {
    const double labels = kTick + kTickGap + kTickSize * kLineHeight;
    const double factor = frame.x.factor.text.empty() ? 0 : kTickSize * kLineHeight;
    return labels + factor + lines_height(x_label, kLabelSize) + 1;
  }
};

struct Page {
  double width = 0, height = 0;
  std::vector<PlacedPanel> panels;
};

Axis axis_of(const Panel& panel, const AxisRoom& room) {
  const bool log = room.vertical ? panel.log_y : panel.log_x;
  Extent values, bands;
  for (const Curve& curve : panel.curves) {
    for (std::size_t i = 0; i < curve.x.size(); ++i) {
      if (!drawable(panel, curve, i)) continue;
      values.include(room.vertical ? curve.y[i] : curve.x[i]);
      if (curve.style == Curve::Style::bars) {
        const double half = bar_width(curve) / 2;
        for (const double end : {curve.x[i] - half, curve.x[i] + half})
          values.include(room.vertical ? 0 : end);
      }
      if (!room.vertical || curve.low.empty()) continue;
      for (const double end : {curve.low[i], curve.high[i]}) {
        if (std::isfinite(end) && (!log || end > 0)) bands.include(end);
      }
    }
  }
  Axis axis = make_axis(log, room, values, bands);
  if (values.empty()) axis.ticks.clear(), axis.minor.clear();  // they would measure nothing
  return axis;
}

// Lays out the panels row by row, with all plots aligned and of one size; each column has the margins that
// its texts need.
Page lay_out(const Figure& figure) {
  const std::size_t columns = std::min<std::size_t>(figure.panels.size(), 3);
  const double height = kPlotHeights[columns - 1];
  Page page;
  page.width = kWidths[columns - 1];
  std::vector<double> left(columns), right(columns);
  for (const Panel& panel : figure.panels) {
    const std::size_t column = page.panels.size() % columns;
    PlacedPanel& placed = page.panels.emplace_back();
    placed.panel = &panel;
    placed.frame.y = axis_of(panel, {height, true});
    placed.y_label = wrapped(panel.y_label, kLabelSize, height * kNameRoom);
    left[column] = std::max(left[column], placed.left() + kMargin);
    right[column] = std::max(right[column], placed.right());
  }
  double room = page.width;
  for (std::size_t i = 0; i < columns; ++i) room -= left[i] + right[i];
  const double width = room / static_cast<double>(columns);

  for (std::size_t row = 0; row < page.panels.size(); row += columns) {
    const std::size_t end = std::min(row + columns, page.panels.size());
    double top = 0, bottom = 0, x = 0;
    for (std::size_t i = row; i < end; ++i) {
      PlacedPanel& placed = page.panels[i];
      placed.frame.x = axis_of(*placed.panel, {width, false});
      placed.title = wrapped(placed.panel->title, kTitleSize, width + 2 * kRight);
      placed.x_label = wrapped(placed.panel->x_label, kLabelSize, width + 2 * kRight);
      top = std::max(top, placed.top() + (row == 0 ? kMargin : kRowGap));
      bottom = std::max(bottom, placed.bottom());
    }
    for (std::size_t i = row; i < end; ++i) {
      x += left[i - row];
      page.panels[i].frame.plot = {x, page.height + top, x + width, page.height + top + height};
      x += width + right[i - row];
    }
    page.height += top + height + bottom;
  }
  return page;
}

// Adds the grid and the axes as two paths, and the tick labels.
void add_axes(std::string& out, const Frame& frame) {
  const Box& plot = frame.plot;
  std::string grid, lines = fmt::format("M{} {}V{}H{}", number(plot.left), number(plot.top),
                                        number(plot.bottom), number(plot.right));
  const auto x_at = [&](double place) { return plot.left + place * plot.width(); };
  const auto y_at = [&](double place) { return plot.bottom - place * plot.height(); };
  const auto x_tick = [&](double place, double length) {
    lines += fmt::format("M{} {}v{}", number(x_at(place)), number(plot.bottom), number(length));
  };
  const auto y_tick = [&](double place, double length) {
    lines += fmt::format("M{} {}h-{}", number(plot.left), number(y_at(place)), number(length));
  };
  TextStyle x_style, y_style;
  x_style.anchor = Anchor::middle;
  y_style.anchor = Anchor::end;
  std::string labels;
  const double below = plot.bottom + kTick + kTickGap + kTickSize * kCapHeight;
  for (const Tick& tick : frame.x.ticks) {
    grid += fmt::format("M{} {}V{}", number(x_at(tick.place)), number(plot.top), number(plot.bottom));
    x_tick(tick.place, kTick);
    add_text(labels, {x_at(tick.place), below}, x_style, tick.label.text, tick.label.power);
  }
  for (const Tick& tick : frame.y.ticks) {
    grid += fmt::format("M{} {}H{}", number(plot.left), number(y_at(tick.place)), number(plot.right));
    y_tick(tick.place, kTick);
    add_text(labels, {plot.left - kTick - kTickGap, y_at(tick.place) + kTickSize * kCapHeight / 2}, y_style,
             tick.label.text, tick.label.power);
  }
  for (const double place : frame.x.minor) x_tick(place, kSmallTick);
  for (const double place : frame.y.minor) y_tick(place, kSmallTick);
  const Axis &x = frame.x, &y = frame.y;
  if (x.unit != 0) {
    add_text(labels, {plot.right, below + kTickSize * kLineHeight}, y_style, x.factor.text, x.factor.power);
  }
  if (y.unit != 0) add_text(labels, {plot.left, plot.top - 3}, {}, y.factor.text, y.factor.power);
  const auto add_path = [&](std::string_view color, double stroke, const std::string& path) {
    fmt::format_to(std::back_inserter(out),
                   "<path fill=\"none\" stroke=\"{}\" stroke-width=\"{}\" d=\"{}\"/>\n", color,
                   number(stroke), path);
  };
  if (!grid.empty()) add_path(kGrid, 0.4, grid);
  add_path(kInk, 0.5, lines);
  out += labels;
}

void add_names(std::string& out, const PlacedPanel& placed) {
  const Box& plot = placed.frame.plot;
  const Point centre = {(plot.left + plot.right) / 2, (plot.top + plot.bottom) / 2};
  TextStyle style;
  style.anchor = Anchor::middle;
  style.size = kTitleSize;
  style.widest = plot.width() + 2 * kRight;
  add_lines(out, {centre.x, plot.top - placed.top() + kTitleSize}, style, placed.title);
  style.size = kLabelSize;
  const double below = plot.bottom + placed.bottom() - lines_height(placed.x_label, kLabelSize) + kLabelSize;
  add_lines(out, {centre.x, below}, style, placed.x_label);
  const auto& curves = placed.panel->curves;
  if (std::none_of(curves.begin(), curves.end(),
                   [&](const Curve& c) { return drawable(*placed.panel, c); })) {
    add_text(out, centre, style, "no values to draw");
  }
  style.upwards = true;
  style.widest = plot.height() * kNameRoom;
  add_lines(out, {plot.left - placed.left() + kLabelSize, centre.y}, style, placed.y_label);
}

// Notes are to the right of the plot at the height of their curve's end, moved apart if they would touch.
void add_notes(std::string& out, const PlacedPanel& placed) {
  struct Note {
    double y;
    const Curve* curve;
  };
  const Box& plot = placed.frame.plot;
  std::vector<Note> notes;
  for (const Curve& curve : placed.panel->curves) {
    for (std::size_t i = curve.note.empty() ? 0 : curve.x.size(); i-- > 0;) {
      const auto end = placed.frame.at(curve.x[i], curve.y[i]);
      if (!end) continue;
      notes.push_back({std::clamp(end->y, plot.top, plot.bottom), &curve});
      break;
    }
  }
  std::stable_sort(notes.begin(), notes.end(), [](const Note& a, const Note& b) { return a.y < b.y; });
  for (std::size_t i = 1; i < notes.size(); ++i)
    notes[i].y = std::max(notes[i].y, notes[i - 1].y + kNoteStep);
  double lowest = plot.bottom;
  for (auto note = notes.rbegin(); note != notes.rend(); ++note, lowest -= kNoteStep) {
    note->y = std::min(note->y, lowest);
  }
  for (const Note& note : notes) {
    TextStyle style;
    style.size = kNoteSize;
    style.color = color_of(note.curve->color);
    add_text(out, {plot.right + kRight / 2, note.y + kNoteSize * kCapHeight / 2}, style, note.curve->note);
  }
}

// A sample of a curve with its label or, without a curve, the title of a panel, which begins a line.
struct LegendEntry {
  const Panel* panel;
  const Curve* curve;

  std::string text() const { return curve != nullptr ? curve->label : panel->title + ":"; }
  double key() const { return curve != nullptr ? kKeyWidth + kKeyGap : 0; }
};

bool same_look(const Curve& a, const Curve& b) { return a.style == b.style && a.color == b.color; }

// Every label appears once, lines first, whatever is drawn with them: σ = 1, σ = 2, bound, sampled. If one
// look has two labels, in different panels, the labels of each panel follow its title.
std::vector<LegendEntry> legend_of(const Figure& figure) {
  std::vector<LegendEntry> legend;
  bool ambiguous = false;
  for (const Panel& panel : figure.panels) {
    for (const Curve& curve : panel.curves) {
      bool repeated = false;
      for (const LegendEntry& other : legend) {
        if (!same_look(*other.curve, curve) || curve.label.empty()) continue;
        repeated = repeated || other.curve->label == curve.label;
        ambiguous = ambiguous || other.curve->label != curve.label;
      }
      if (!curve.label.empty() && !repeated && drawable(panel, curve)) legend.push_back({&panel, &curve});
    }
  }
  const auto by_style = [](const LegendEntry& a, const LegendEntry& b) {
    return a.curve->style < b.curve->style;
  };
  if (!ambiguous) {
    std::stable_sort(legend.begin(), legend.end(), by_style);
    return legend;
  }
  std::vector<LegendEntry> by_panel;
  for (const LegendEntry& entry : legend) {
    if (by_panel.empty() || by_panel.back().panel != entry.panel) by_panel.push_back({entry.panel, nullptr});
    by_panel.push_back(entry);
  }
  return by_panel;
}

// Adds the entries one after another in centred lines below `top`; returns the bottom.
double add_legend(std::string& out, const std::vector<LegendEntry>& legend, double page_width, double top) {
  const double room = page_width - 2 * kMargin;
  const auto width = [&](const LegendEntry& entry) {
    return std::min(room, entry.key() + text_width(entry.text(), kTickSize));
  };
  for (std::size_t begin = 0, end = 0; begin < legend.size(); begin = end, top += kLegendLine) {
    double line = width(legend[end++]);
    while (end < legend.size() && legend[end].curve != nullptr &&
           line + kEntryGap + width(legend[end]) <= room) {
      line += kEntryGap + width(legend[end++]);
    }
    Point at = {(page_width - line) / 2, top + kLegendLine};
    for (std::size_t i = begin; i < end; ++i) {
      const LegendEntry& entry = legend[i];
      TextStyle style;
      style.widest = width(entry) - entry.key();
      if (entry.curve != nullptr) {
        add_key(out, *entry.panel, *entry.curve, {at.x, at.y - kTickSize * kCapHeight / 2});
      }
      add_text(out, {at.x + entry.key(), at.y}, style, entry.text());
      at.x += width(entry) + kEntryGap;
    }
  }
  return top;
}

std::string spoken(const Figure& figure) {
  std::string text = figure.caption;
  for (const Panel& panel : figure.panels) {
    if (!figure.caption.empty() || panel.title.empty()) continue;
    text += text.empty() ? panel.title : "; " + panel.title;
  }
  return text.empty() ? "Figure" : text;
}

}  // namespace

std::string to_svg(const Figure& figure) {
  if (figure.panels.empty()) fail("to_svg", "the figure has no panels");
  for (const Panel& panel : figure.panels) check_panel(panel);

  const Page page = lay_out(figure);
  std::string content;
  for (const PlacedPanel& placed : page.panels) {
    const Panel& panel = *placed.panel;
    add_axes(content, placed.frame);
    add_names(content, placed);
    for (const Curve& curve : panel.curves) add_band(content, curve, placed.frame);
    for (const Curve& curve : panel.curves) add_curve(content, panel, curve, placed.frame);
    add_notes(content, placed);
  }
  double bottom = add_legend(content, legend_of(figure), page.width, page.height + kMargin);
  const std::vector<std::string> caption = wrapped(figure.caption, kLabelSize, page.width - 2 * kMargin);
  TextStyle style;
  style.size = kLabelSize;
  add_lines(content, {kMargin, bottom + kCaptionGap + kLabelSize}, style, caption);
  if (!caption.empty()) bottom += kCaptionGap + lines_height(caption, kLabelSize);
  return fmt::format(
      R"(<svg xmlns="http://www.w3.org/2000/svg" role="img" width="{0}pt" height="{1}pt" viewBox="0 0 {0} {1}" )"
      R"(font-family="sans-serif" fill="{2}">)"
      "\n<title>{3}</title>\n"
      R"(<rect width="{0}" height="{1}" fill="#fff"/>)"
      "\n{4}</svg>\n",
      number(page.width), number(bottom + kMargin), kInk, escaped(spoken(figure)), content);
}

}  // namespace largo
