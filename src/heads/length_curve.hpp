// The error of attention over L tokens drawn, with replacement, from those that one query sees.
//
// The prompt drawn is one of i.i.d. tokens of the empirical law, so its error has the formula of
// docs/concentration.md for laws of known scores. With w the weights, x_j = v_j - T, and Φ_k[h](t) the mean
// of w^k h e^{-tw} over the tokens,
//
//   E‖T[μ̂_L] - T‖² = ∫_0^∞ t {L Φ_2[‖x‖²] φ^{L-1} + L(L-1) ‖Φ_1[x]‖² φ^{L-2}} dt,   φ = Φ_0[1].
//
// Tokens whose scores fall into one interval of 1/16 count with their mean weight: the integral then costs
// the same for any number of tokens.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "largo/runtime/matrix.hpp"

namespace largo::heads {

/// L = 1, 2, 4, …, 2^32.
inline constexpr std::size_t kLengths = 33;
constexpr double length_at(std::size_t i) { return static_cast<double>(std::uint64_t{1} << i); }

/// Tokens of nearly equal weight, summed up.
class ScoreBins {
 public:
  explicit ScoreBins(std::ptrdiff_t columns);

  /// A token whose score is `gap` below the largest, of weight e^{-gap}, with its value.
  void add(double gap, double weight, std::span<const double> value, double square);

  struct Bin {
    double count = 0, weight = 0, square = 0;  ///< sums of 1, w, ‖v‖²
    double most = 0;                           ///< no weight in it is above this
  };
  const std::vector<Bin>& bins() const { return bins_; }
  /// Σ v of each bin, one column a bin.
  Eigen::Map<const Matrix> values() const { return {values_.data(), columns_, std::ssize(bins_)}; }

 private:
  std::ptrdiff_t columns_;
  std::vector<std::int32_t> slot_;
  std::vector<Bin> bins_;
  std::vector<double> values_;
};

/// The squared error at every length. Relative error: below 1e-3, most of it from the intervals of scores;
/// 1e-7 if no two tokens share one. Tokens whose scores are more than 80 below the largest count as equals.
/// Cost: about 100 values of t times the number of intervals with tokens (100 to 300) times the dimension.
std::array<double, kLengths> sampled_errors(const ScoreBins& bins);

/// Bounds on them: section "certified" of docs/bounds.md for this law, with ρ = n P2 and ‖x‖ <= radius.
std::array<double, kLengths> certified_errors(const ScoreBins& bins, const ConstVectorRef& output, double P2,
                                              double radius);

/// The L from which on `errors` are at most `limit`: between two lengths on the line of ln error against
/// ln L, beyond the last one like 1/L. 1 if all are.
double length_within(const std::array<double, kLengths>& errors, double limit);

}  // namespace largo::heads
