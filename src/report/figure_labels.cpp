#include "report/figure_labels.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <limits>

#include <fmt/format.h>

namespace largo::svg {
namespace {

constexpr double kLegendLine = 9;  // between its base lines
constexpr double kLegendPadding = 2.5;
constexpr double kLegendMargin = 2;  // between the legend and the axes
constexpr double kKeyGap = 3;        // between the sample and its text
constexpr double kColumnGap = 12;
constexpr double kNoteOverhang = 5;  // of the page's room on the right of a plot
constexpr double kCapHeight = 0.73;  // of the size: from the base line to the top of a capital
constexpr double kDepth = 0.22;      // below the base line

void add_white(std::string& out, const Box& box, double opacity) {
  fmt::format_to(std::back_inserter(out),
                 R"(<rect x="{}" y="{}" width="{}" height="{}" fill="#fff" fill-opacity="{}"/>)"
                 "\n",
                 number(box.left), number(box.top), number(box.width()), number(box.height()),
                 number(opacity));
}

double widest(std::span<const LegendEntry> entries) {
  double width = 0;
  for (const LegendEntry& entry : entries)
    width = std::max(width, text_width(entry.curve->label, kLegendSize));
  return width;
}

void add_entry(std::string& out, const LegendEntry& entry, Point at, double text_room) {
  add_key(out, *entry.curve, {at.x, at.y - kLegendSize * kCapHeight / 2}, entry.mark);
  TextStyle style;
  style.size = kLegendSize;
  style.widest = text_room;
  add_text(out, {at.x + kKeyWidth + kKeyGap, at.y}, style, entry.curve->label);
}

// Columns of a legend whose entries are written row by row, each as wide as its widest entry with a gap.
struct Columns {
  std::vector<double> widths;
  double total = 0;
};

Columns columns_of(std::span<const LegendEntry> entries, std::size_t count) {
  Columns columns;
  columns.widths.resize(count);
  for (std::size_t i = 0; i < entries.size(); ++i) {
    double& width = columns.widths[i % count];
    width = std::max(width, kKeyWidth + kKeyGap + widest(entries.subspan(i, 1)) + kColumnGap);
  }
  for (const double width : columns.widths) columns.total += width;
  return columns;
}

// As few rows as the width allows, and then no more columns than fill them: 7 entries in 4 and 3, not in 6
// and 1.
Columns columns_for(std::span<const LegendEntry> entries, double width) {
  std::size_t count = entries.size();
  while (count > 1 && columns_of(entries, count).total - kColumnGap > width) --count;
  const std::size_t rows = (entries.size() + count - 1) / count;
  const std::size_t even = (entries.size() + rows - 1) / rows;
  const Columns columns = columns_of(entries, even);
  return columns.total - kColumnGap > width ? columns_of(entries, count) : columns;
}

// Left of the point, above it or right of it, but within the plot or just beyond its end.
PlacedNote note_at(const Note& note, Point point, Anchor anchor, double shift, const Box& plot) {
  constexpr double kBeside = 3.5;
  const double width = text_width(note.text, kNoteSize);
  const double wanted = anchor == Anchor::start    ? point.x + kBeside
                        : anchor == Anchor::middle ? point.x - width / 2
                                                   : point.x - kBeside - width;
  const double left = std::max(plot.left, std::min(wanted, plot.right + kNoteOverhang - width));
  const double x = anchor == Anchor::start    ? left
                   : anchor == Anchor::middle ? left + width / 2
                                              : left + width;
  const double base = point.y + shift + kNoteSize * kCapHeight / 2;
  return {&note,
          anchor,
          {x, base},
          {left, base - kNoteSize * kCapHeight, left + width, base + kNoteSize * kDepth}};
}

// What stands between the note and its point, less the point's own curve beside it.
int between_note_and_point(const PlacedNote& placed, Point point, const Ink& ink) {
  constexpr double kOwn = 4;
  const double x = std::clamp(point.x, placed.box.left, placed.box.right);
  const Box above = {x - 1, placed.box.bottom, x + 1, point.y - kOwn};
  const Box below = {x - 1, point.y + kOwn, x + 1, placed.box.top};
  return (above.height() > 0 ? ink.beneath(above) : 0) + (below.height() > 0 ? ink.beneath(below) : 0);
}

// How bad a place is: what is covered, how far the note is from its point, and what is between them.
double badness(const PlacedNote& placed, Point point, double shift, const Frame& frame, const Ink& ink,
               std::span<const PlacedNote> others) {
  constexpr double kOverNote = 1e4, kOutside = 1e5, kOverInk = 100, kAway = 0.5, kBehind = 5, kOtherSide = 1;
  double bad = kOverInk * ink.beneath(placed.box.grown(0.8)) + kAway * std::abs(shift) +
               kBehind * between_note_and_point(placed, point, ink);
  if (placed.anchor != Anchor::start) bad += kOtherSide;
  if (placed.box.top < frame.plot.top || placed.box.bottom > frame.plot.bottom) bad += kOutside;
  for (const PlacedNote& other : others) {
    if (placed.box.grown(0.6).overlaps(other.box)) bad += kOverNote;
  }
  return bad;
}

Point within(Point p, const Box& plot) {
  return {std::clamp(p.x, plot.left, plot.right), std::clamp(p.y, plot.top, plot.bottom)};
}

// Beside what the note may stand: its point, which has a place, and some others of the curve that goes
// through it, since what it says is said of the curve.
std::vector<Point> points_for(const Note& note, const Panel& panel, const Frame& frame) {
  constexpr std::size_t kMostPoints = 16;
  std::vector<Point> points = {within(*frame.at(note.x, note.y), frame.plot)};
  for (const Curve& curve : panel.curves) {
    const std::size_t size = curve.x.size();
    bool through = false;
    for (std::size_t i = 0; i < size; ++i)
      through = through || (curve.x[i] == note.x && curve.y[i] == note.y);
    if (!through || curve.color != note.color) continue;
    for (std::size_t i = 0; i < size; i += 1 + (size - 1) / kMostPoints) {
      if (const auto point = frame.at(curve.x[i], curve.y[i])) points.push_back(within(*point, frame.plot));
    }
    break;
  }
  return points;
}

// Of places that are as good the first is taken: beside the first of the points before the others, above
// before below, near before far.
PlacedNote best_place(const Note& note, const std::vector<Point>& points, const Frame& frame, const Ink& ink,
                      std::span<const PlacedNote> others) {
  constexpr double kStep = 1.5;
  constexpr double kAlong = 0.15;   // how bad it is to be away from the point, along the curve
  constexpr double kFarAlong = 30;  // and beside another point not farther than this
  PlacedNote best;
  double least = std::numeric_limits<double>::infinity();
  for (const Point point : points) {
    const double along = kAlong * distance(point, points.front());
    const int steps = static_cast<int>((along == 0 ? frame.plot.height() : kFarAlong) / kStep);
    for (int i = 0; i <= 2 * steps; ++i) {
      const int away = (i + 1) / 2;
      const double shift = kStep * (i % 2 == 1 ? -away : away);
      for (const Anchor anchor : {Anchor::start, Anchor::middle, Anchor::end}) {
        const PlacedNote candidate = note_at(note, point, anchor, shift, frame.plot);
        const double bad = along + badness(candidate, point, shift, frame, ink, others);
        if (bad < least) {
          least = bad;
          best = candidate;
        }
      }
    }
  }
  return best;
}

}  // namespace

std::vector<PlacedNote> place_notes(const Panel& panel, const Frame& frame, const Ink& ink) {
  std::vector<PlacedNote> placed;
  for (const Note& note : panel.notes) {
    if (!frame.at(note.x, note.y) || note.text.empty()) continue;
    placed.push_back(best_place(note, points_for(note, panel, frame), frame, ink, placed));
    placed.back().over_ink = ink.beneath(placed.back().box) > 0;
  }
  return placed;
}

void add_notes(std::string& out, std::span<const PlacedNote> notes) {
  for (const PlacedNote& placed : notes) {
    TextStyle style;
    style.size = kNoteSize;
    style.anchor = placed.anchor;
    style.color = color_of(placed.note->color);
    if (placed.over_ink) add_white(out, placed.box, 0.75);
    add_text(out, placed.at, style, placed.note->text);
  }
}

std::optional<Box> place_legend(std::span<const LegendEntry> entries, const Frame& frame, const Ink& ink,
                                std::span<const PlacedNote> notes) {
  if (entries.empty()) return Box{};
  const double width = kKeyWidth + kKeyGap + widest(entries) + 2 * kLegendPadding;
  const double height = kLegendLine * static_cast<double>(entries.size()) + kLegendPadding;
  const Box room = frame.plot.grown(-kLegendMargin);
  if (width > room.width() || height > room.height()) return std::nullopt;
  const std::array<Box, 4> corners = {
      Box{room.right - width, room.top, room.right, room.top + height},
      Box{room.left, room.bottom - height, room.left + width, room.bottom},
      Box{room.left, room.top, room.left + width, room.top + height},
      Box{room.right - width, room.bottom - height, room.right, room.bottom},
  };
  for (const Box& corner : corners) {
    const bool free = std::none_of(notes.begin(), notes.end(),
                                   [&](const PlacedNote& placed) { return corner.overlaps(placed.box); });
    if (free && ink.beneath(corner) == 0) return corner;
  }
  return std::nullopt;
}

void add_legend(std::string& out, std::span<const LegendEntry> entries, const Box& box) {
  add_white(out, box, 1);
  Point at = {box.left + kLegendPadding, box.top - kLegendPadding / 2};
  for (const LegendEntry& entry : entries) {
    at.y += kLegendLine;
    add_entry(out, entry, at, widest(entries));
  }
}

double add_wide_legend(std::string& out, std::span<const LegendEntry> entries, double width, double top) {
  const Columns columns = columns_for(entries, width);
  const double rows =
      std::ceil(static_cast<double>(entries.size()) / static_cast<double>(columns.widths.size()));
  Point at = {0, top};
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const std::size_t column = i % columns.widths.size();
    if (column == 0) at = {(width - columns.total + kColumnGap) / 2, at.y + kLegendLine};
    add_entry(out, entries[i], at, width - kKeyWidth - kKeyGap);
    at.x += columns.widths[column];
  }
  return top + kLegendLine * rows + kLegendSize * kDepth;
}

}  // namespace largo::svg
