// The statistics of softmax_moments.hpp for one prompt length or a law of them, interpolated as functions of
// s. Averages over queries, risks and gradient flows use it, since they need the statistics at millions of s.
//
//   const SoftmaxTable table(1e6);
//   const SoftmaxStatistics m = table(1.7);     // about 100 ns
//
// Between fixed edges in s each statistic is e^{r(x)} times a Chebyshev interpolant. Here x is s² near zero
// (the statistics are even or odd in s), 1/s towards infinity and s in between, and the quadratic r removes
// the change of size. The logarithm is not interpolated: a sum of two exponentials, such as E[P_2²] where it
// changes regime, is entire, but its logarithm has singularities near the line. docs/moments.md has figures.
#pragma once

#include <memory>

#include "largo/exact/length_law.hpp"
#include "largo/exact/softmax_moments.hpp"
#include "largo/runtime/execution.hpp"

namespace largo {

class SoftmaxTable {
 public:
  /// For one length, which converts to a law, or for the averages over a law of lengths (all statistics are
  /// expectations; for L = 1 and ∞ alone there are closed forms). Computes nothing yet: a panel of s is
  /// filled when it is first needed, with the same bits whichever thread is first. Lengths
  /// share their integrals: all up to 64 cost twice as much as one, all up to 1e7 seven times as much.
  explicit SoftmaxTable(const LengthLaw& lengths);
  ~SoftmaxTable();
  SoftmaxTable(SoftmaxTable&&) noexcept;
  SoftmaxTable& operator=(SoftmaxTable&&) noexcept;

  const LengthLaw& lengths() const;

  /// The statistics at s. Domain: 0 <= s <= kLargestScoreSpread. Error: below 1e-10 in the sense of
  /// relative_error, usually 1e-12; it is absolute if E[P_3] or E[P_2²] is below 1e-280, or L within 1e-3 of
  /// 1. Cost: 100 ns, and 1 to 10 ms at the first s of a panel (L <= 1e12; longer prompts have sharper
  /// changes of regime and need more). Thread-safe.
  SoftmaxStatistics operator()(double s) const;

  /// Fills all panels up to s_max now, in parallel. Takes about 10 ms for s_max = 10 at L = 1e6 on one core.
  void fill(double s_max, const Execution& execution = {}) const;

  /// A table for these lengths that all callers share; the last 64 tables are kept.
  static std::shared_ptr<const SoftmaxTable> shared(const LengthLaw& lengths);

 private:
  class Panels;
  std::unique_ptr<Panels> panels_;
};

}  // namespace largo
