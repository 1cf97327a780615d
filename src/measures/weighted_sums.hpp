// Sums Σ_l w_l f(z_l) over a piece of a prompt for a batch of directions, with w_l = e^{unit (score_l -
// reference)}: scores are in the unit of the kernel that makes the weights.
//
// The reference of a direction is its largest score so far, rounded up to a multiple of kScoreGrid. Pieces
// with different references are brought to the larger one before they are added. As the grid is coarse this
// is rare, and what has been rescaled twice is negligible, so errors do not chain even when the scores of a
// prompt rise slowly from the first token to the last.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/aligned_vector.hpp"

namespace largo::measures {

class WeightedSums {
 public:
  /// `rows` sums for each direction; directions come in groups of `width`, interleaved for the kernel.
  /// `compensated` sums carry a second double each, for their rounding errors.
  enum class Rounding : std::uint8_t { plain, compensated };
  WeightedSums(std::int64_t rows, std::int64_t groups, std::int64_t width, Rounding rounding, double unit);

  std::int64_t rows() const { return rows_; }
  std::int64_t width() const { return width_; }

  /// The sums of a group, row-major [rows][width].
  double* sums(std::int64_t group) { return sums_.data() + group * rows_ * width_; }
  /// Their rounding errors; null for plain rounding.
  double* errors(std::int64_t group) {
    return errors_.empty() ? nullptr : errors_.data() + group * rows_ * width_;
  }

  double value(std::int64_t row, std::int64_t direction) const;
  /// The sum minus count · term, with the rounding errors of both. Domain: sum at least half of count · term.
  double excess(std::int64_t row, std::int64_t direction, double count, double term) const;
  double unit() const { return unit_; }
  double maximum(std::int64_t direction) const { return maximum_[static_cast<std::size_t>(direction)]; }
  double reference(std::int64_t direction) const { return reference_[static_cast<std::size_t>(direction)]; }

  /// Records a score, and raises the reference if the score lies above it.
  void raise(std::int64_t direction, double score);

  /// Adds to one row of a group; the errors count only for compensated sums.
  void add_row(std::int64_t row, std::int64_t group, const double* terms, const double* errors);

  /// Adds the sums of the piece that follows this one.
  void merge(const WeightedSums& next);

 private:
  std::size_t at(std::int64_t row, std::int64_t direction) const {
    return static_cast<std::size_t>(((direction / width_) * rows_ + row) * width_ + direction % width_);
  }
  void rescale(std::int64_t direction, double factor);
  double scale_between(double from, double to) const;

  std::int64_t rows_;
  std::int64_t width_;
  double unit_;
  std::vector<double> reference_;
  std::vector<double> maximum_;
  runtime::AlignedVector<double> sums_;
  runtime::AlignedVector<double> errors_;
};

}  // namespace largo::measures
