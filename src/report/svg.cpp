#include "largo/report/svg.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iterator>

#include <fmt/format.h>

#include "io/text.hpp"
#include "largo/runtime/check.hpp"
#include "report/figure_labels.hpp"
#include "report/figure_panels.hpp"

namespace largo {
namespace {

using namespace svg;

constexpr double kLegendAbove = 3;  // between the panels and a legend below them
constexpr double kCaptionAbove = 7;
constexpr double kBelow = 4;  // the page's lower margin

std::string name_of(const Panel& panel, std::size_t curve) {
  const std::string& label = panel.curves[curve].label;
  if (!label.empty()) return fmt::format("curve '{}'", one_line(label));
  return fmt::format("curve {} of panel '{}'", curve + 1, one_line(panel.title));
}

void check_values(std::string_view what, const std::string& curve, const std::vector<double>& values,
                  std::size_t size) {
  check_size("to_svg", fmt::format("{} of {}", what, curve), std::ssize(values),
             static_cast<std::ptrdiff_t>(size));
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (std::isnan(values[i])) {
      fail("to_svg", fmt::format("{}[{}] of {}", what, i, curve), values[i], "a number");
    }
  }
}

void check_panel(const Panel& panel) {
  if (panel.curves.empty()) fail("to_svg", fmt::format("panel '{}' has no curves", one_line(panel.title)));
  for (std::size_t i = 0; i < panel.curves.size(); ++i) {
    const Curve& curve = panel.curves[i];
    const std::string name = name_of(panel, i);
    check_values("x", name, curve.x, curve.x.size());
    check_values("y", name, curve.y, curve.x.size());
    if (!curve.low.empty() || !curve.high.empty()) {
      check_values("low", name, curve.low, curve.x.size());
      check_values("high", name, curve.high, curve.x.size());
    }
    if (curve.color < 0) fail("to_svg", fmt::format("color of {}", name), curve.color, "non-negative");
  }
  for (const Note& note : panel.notes) {
    const std::string name = fmt::format("note '{}'", one_line(note.text));
    if (std::isnan(note.x)) fail("to_svg", fmt::format("x of {}", name), note.x, "a number");
    if (std::isnan(note.y)) fail("to_svg", fmt::format("y of {}", name), note.y, "a number");
    if (note.color < 0) fail("to_svg", fmt::format("color of {}", name), note.color, "non-negative");
  }
}

bool among(const std::vector<int>& colors, int color) {
  return std::find(colors.begin(), colors.end(), color) != colors.end();
}

std::vector<int> line_colors(const Panel& panel) {
  std::vector<int> colors;
  for (const Curve& curve : panel.curves) {
    if (curve.style == Curve::Style::line && !among(colors, curve.color)) colors.push_back(curve.color);
  }
  return colors;
}

// Which lines carry a marker, and which the legend shows: what is drawn.
class Markers {
 public:
  explicit Markers(const Figure& figure) {
    for (const Panel& panel : figure.panels) several_ = several_ || line_colors(panel).size() > 1;
  }

  /// Not where enough points of the colour show its marker already, nor on a line that is alone and unnamed.
  bool on(const Panel& panel, const Curve& curve) const {
    return marked(curve) && !shown_by_points(panel, curve) &&
           (!curve.label.empty() || line_colors(panel).size() > 1);
  }

  /// A line whose points have no entry of their own is shown with theirs.
  Mark in_legend(const Panel& panel, const Curve& curve) const {
    if (on(panel, curve)) return Mark::hollow;
    if (curve.style != Curve::Style::line) return Mark::none;
    const bool unnamed = std::any_of(panel.curves.begin(), panel.curves.end(), [&](const Curve& other) {
      return other.style == Curve::Style::points && other.color == curve.color && other.label.empty();
    });
    return unnamed ? Mark::solid : Mark::none;
  }

 private:
  // Alone and with few points, a line has markers too: they say where it was computed.
  bool marked(const Curve& curve) const {
    return curve.style == Curve::Style::line && (several_ || curve.x.size() <= kFewPoints);
  }

  static bool shown_by_points(const Panel& panel, const Curve& curve) {
    constexpr std::size_t kEnough = 4;
    std::size_t points = 0;
    for (const Curve& other : panel.curves) {
      if (other.style == Curve::Style::points && other.color == curve.color) points += other.x.size();
    }
    return points > 0 && points >= std::min(kEnough, curve.x.size());
  }

  bool several_ = false;
};

bool same_entry(const Curve& a, const Curve& b) {
  return a.label == b.label && a.style == b.style && a.color == b.color;
}

// Lines first, whatever is drawn along with each: σ = 1, σ = 2, bound, sampled.
void sort_by_style(std::vector<LegendEntry>& entries) {
  std::stable_sort(entries.begin(), entries.end(), [](const LegendEntry& a, const LegendEntry& b) {
    return a.curve->style < b.curve->style;
  });
}

// The legend of each panel: labelled curves that are seen, less those that an earlier panel names.
std::vector<std::vector<LegendEntry>> legends_of(const Figure& figure, const Markers& markers) {
  std::vector<std::vector<LegendEntry>> legends;
  std::vector<const Curve*> known;
  for (const Panel& panel : figure.panels) {
    std::vector<LegendEntry>& legend = legends.emplace_back();
    for (const Curve& curve : panel.curves) {
      const bool repeated = std::any_of(known.begin(), known.end(),
                                        [&](const Curve* other) { return same_entry(*other, curve); });
      if (curve.label.empty() || repeated || !drawable(panel, curve)) continue;
      known.push_back(&curve);
      legend.push_back({&curve, markers.in_legend(panel, curve)});
    }
    sort_by_style(legend);
  }
  return legends;
}

std::string spoken(const Figure& figure) {
  if (!figure.caption.empty()) return figure.caption;
  std::string text;
  for (const Panel& panel : figure.panels) {
    if (panel.title.empty()) continue;
    if (!text.empty()) text += "; ";
    text += panel.title;
  }
  return text.empty() ? "Figure" : text;
}

std::string document(const Figure& figure, double width, double height, std::string_view content) {
  return fmt::format(
      R"(<svg xmlns="http://www.w3.org/2000/svg" role="img" width="{0}pt" height="{1}pt" viewBox="0 0 {0} {1}" )"
      R"(font-family="sans-serif" fill="{2}">)"
      "\n<title>{3}</title>\n"
      R"(<rect width="{0}" height="{1}" fill="#fff"/>)"
      "\n{4}</svg>\n",
      number(width), number(height), kInk, escaped(spoken(figure)), content);
}

}  // namespace

std::string to_svg(const Figure& figure) {
  if (figure.panels.empty()) fail("to_svg", "the figure has no panels");
  for (const Panel& panel : figure.panels) check_panel(panel);

  const Markers markers(figure);
  const std::vector<std::vector<LegendEntry>> legends = legends_of(figure, markers);
  const Page page = lay_out(figure);
  std::string content;
  std::vector<std::optional<Box>> corners;
  for (std::size_t i = 0; i < figure.panels.size(); ++i) {
    const Panel& panel = figure.panels[i];
    const PlacedPanel& placed = page.panels[i];
    add_axes(content, panel, placed);
    Ink ink(placed.frame.plot);
    for (const Curve& curve : panel.curves) add_ink(ink, curve, placed.frame, markers.on(panel, curve));
    for (const Curve& curve : panel.curves) add_band(content, curve, placed.frame);
    for (const Curve& curve : panel.curves) add_curve(content, curve, placed.frame, markers.on(panel, curve));
    const std::vector<PlacedNote> notes = place_notes(panel, placed.frame, ink);
    add_notes(content, notes);
    for (const Curve& curve : panel.curves) add_band_ink(ink, curve, placed.frame);
    corners.push_back(place_legend(legends[i], placed.frame, ink, notes));
  }

  double bottom = page.height;
  if (std::all_of(corners.begin(), corners.end(), [](const auto& corner) { return corner.has_value(); })) {
    for (std::size_t i = 0; i < legends.size(); ++i) {
      if (!legends[i].empty()) add_legend(content, legends[i], *corners[i]);
    }
  } else {
    std::vector<LegendEntry> all;
    for (const auto& legend : legends) all.insert(all.end(), legend.begin(), legend.end());
    sort_by_style(all);
    bottom = add_wide_legend(content, all, page.width, bottom + kLegendAbove);
  }
  const std::vector<std::string> caption = wrapped(figure.caption, kLabelSize, page.width - 2 * kPageMargin);
  if (!caption.empty()) {
    TextStyle style;
    style.size = kLabelSize;
    add_lines(content, {kPageMargin, bottom + kCaptionAbove + kLabelSize}, style, caption);
    bottom += kCaptionAbove + kLabelSize * kLineHeight * static_cast<double>(caption.size());
  }
  return document(figure, page.width, bottom + kBelow, content);
}

}  // namespace largo
