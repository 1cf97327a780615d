#include "report/figure_ink.hpp"

#include <algorithm>

namespace largo::svg {
namespace {

constexpr double kInkSquare = 1;

}  // namespace

Ink::Ink(const Box& plot)
    : plot_(plot),
      columns_(static_cast<std::ptrdiff_t>(plot.width() / kInkSquare) + 1),
      rows_(static_cast<std::ptrdiff_t>(plot.height() / kInkSquare) + 1),
      covered_(static_cast<std::size_t>(columns_ * rows_)) {}

std::ptrdiff_t Ink::column(double x) const {
  return static_cast<std::ptrdiff_t>(std::clamp(x - plot_.left, 0.0, plot_.width()) / kInkSquare);
}

std::ptrdiff_t Ink::row(double y) const {
  return static_cast<std::ptrdiff_t>(std::clamp(y - plot_.top, 0.0, plot_.height()) / kInkSquare);
}

void Ink::add(Point at) { covered_[static_cast<std::size_t>(row(at.y) * columns_ + column(at.x))] = true; }

void Ink::add_segment(Point from, Point to) {
  const int steps = static_cast<int>(distance(from, to) / kInkSquare) + 1;
  for (int i = 0; i <= steps; ++i) add(between(from, to, static_cast<double>(i) / steps));
}

int Ink::beneath(const Box& box) const {
  int count = 0;
  for (std::ptrdiff_t i = row(box.top); i <= row(box.bottom); ++i) {
    for (std::ptrdiff_t j = column(box.left); j <= column(box.right); ++j) {
      count += covered_[static_cast<std::size_t>(i * columns_ + j)] ? 1 : 0;
    }
  }
  return count;
}

}  // namespace largo::svg
