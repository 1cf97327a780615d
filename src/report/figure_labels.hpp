// Where notes and the legend stand, so that they cover neither each other nor the curves.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "report/figure_curves.hpp"

namespace largo::svg {

struct PlacedNote {
  const Note* note = nullptr;
  Anchor anchor = Anchor::start;
  Point at;  ///< of the base line, at the anchor
  Box box;
  bool over_ink = false;
};

/// Notes beside their points, or beside another point of the curve of their colour that goes through it: on
/// either side, moved vertically to where they cover no other note and no ink. They overlap, or cover ink,
/// only when there is no room left in their panel. Curves beneath a note are lightened.
std::vector<PlacedNote> place_notes(const Panel& panel, const Frame& frame, const Ink& ink);

void add_notes(std::string& out, std::span<const PlacedNote> notes);

/// One line of a legend: the curve that it is a sample of, and the marker that a line carries there.
struct LegendEntry {
  const Curve* curve = nullptr;
  Mark mark = Mark::none;
};

/// The corner of the plot where a legend of one column covers nothing (the first of top right, bottom left,
/// top left, bottom right), or empty. No entries need no place: a box of no size.
std::optional<Box> place_legend(std::span<const LegendEntry> entries, const Frame& frame, const Ink& ink,
                                std::span<const PlacedNote> notes);

/// A legend of one column in its box.
void add_legend(std::string& out, std::span<const LegendEntry> entries, const Box& box);

/// A legend of as many equal columns as the width has room for, centred, its top at `top`; returns its
/// bottom.
double add_wide_legend(std::string& out, std::span<const LegendEntry> entries, double width, double top);

}  // namespace largo::svg
