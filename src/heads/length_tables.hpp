// The statistics of Gaussian prompts at the lengths of a curve, one table for each.
#pragma once

#include <array>
#include <memory>
#include <vector>

#include "heads/length_curve.hpp"
#include "largo/exact/softmax_table.hpp"

namespace largo::heads {

class LengthTables {
 public:
  LengthTables();

  /// E‖T[μ̂_L] - T[μ]‖² for Gaussian tokens at one query, at every length: scores of spread s, values of
  /// total variance `variance`, and the shift ‖Cov(v, score)‖² = `shift` of the mean value. Thread-safe.
  /// Error and cost: those of SoftmaxTable.
  std::array<double, kLengths> errors(double s, double variance, double shift) const;

 private:
  std::vector<std::shared_ptr<const SoftmaxTable>> tables_;
};

}  // namespace largo::heads
