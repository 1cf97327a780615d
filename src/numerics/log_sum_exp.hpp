// log(sum_i w_i exp(s_i)) of scores that arrive one by one or in blocks, without overflow and without losing
// the many small terms beside a large one.
//
// The largest score M is kept apart with its weight c; the others are summed as w exp(s - R) in
// double-double, where the reference R is M rounded up to a multiple of kScoreGrid. So
//
//   value = M + log(c) + log(1 + rest exp(R - M) / c),
//
// which is exact for a single score, needs no exponential when all scores are equal, and keeps terms below
// half an ulp of the maximum. R moves only when M passes a multiple of 32, and what was summed before a
// move counts for at most exp(-32) after the next: rounding errors of the rescaling do not chain, even for
// scores that ascend slowly. The difference s - R is taken with its rounding error, so that the accuracy does
// not fall with the size of the scores.
#pragma once

#include <limits>
#include <span>

#include "largo/runtime/matrix.hpp"
#include "numerics/double_double.hpp"

namespace largo::numerics {

/// The reference point of a softmax is its largest score rounded up to a multiple of this: rescaling becomes
/// rare, and exp(score - reference) stays within exp(-32) of the largest weight, far from underflow.
inline constexpr double kScoreGrid = 32;

/// The least multiple of kScoreGrid that is >= score; exact for every finite score.
double score_reference(double score);

/// Error of value() in ulp of the larger of |value| and |largest score|, for unit weights.
inline constexpr double kLogSumExpMaxUlp = 2;

class LogSumExp {
 public:
  /// Adds exp(score). Cost: about 50 ns.
  void add(double score) { add(score, 1); }
  /// Adds weight exp(score); weight finite and >= 0, else InputError. Weight 0 adds nothing, whatever the
  /// score.
  void add(double score, double weight);
  /// Adds all scores with weight 1, vectorised. Cost: about 5 ns each.
  void add(std::span<const double> scores);
  /// Adds what another sum holds.
  void merge(const LogSumExp& other);

  /// The logarithm of the sum. Error: kLogSumExpMaxUlp. Edges: -inf scores add nothing; an empty sum is -inf;
  /// a score of +inf makes it +inf; a NaN makes it NaN, even together with +inf.
  double value() const;

 private:
  void raise_maximum(double score);

  double maximum_ = -std::numeric_limits<double>::infinity();
  double reference_ = -std::numeric_limits<double>::infinity();
  DoubleDouble weight_at_maximum_;  // sum of the weights of scores equal to maximum_
  DoubleDouble rest_;               // sum of w exp(s - reference_) over the others
  bool positive_infinity_ = false;
  bool nan_ = false;
};

/// log(sum_i exp(s_i)); error and edges as for LogSumExp::value().
double log_sum_exp(std::span<const double> scores);

/// The weights exp(s_i)/sum_j exp(s_j), each to 2.5 ulp; their exact sum is within 2^-52 of one.
/// Scores of -inf get weight 0. InputError when no score is finite, or one is NaN or +inf.
Vector softmax(std::span<const double> scores);

}  // namespace largo::numerics
