// One pass over a prompt for many directions at once, without storing a score.
//
// The prompt is cut into segments of kSegment tokens and these into blocks of kBlock. A block takes three
// steps, each a small matrix product or elementwise, in cache:
//   1. scores      S = Z A          (block x directions)
//   2. weights     W = e^{S - reference}
//   3. sums        F(Z)ᵀ W          for the features F a caller asks for: 1, z, z zᵀ
// Directions lie along the SIMD lanes, so every sum is a plain loop over tokens whose order does not depend
// on the vector length. Segments are summed independently, on any thread, and merged in their order:
// the result does not depend on the number of threads or on how segments are handed out.
//
// float arithmetic: sums within a block in float, across blocks in double. double arithmetic: compensated
// sums throughout, so that a maximum and 10^9 terms below half its ulp still add up correctly.
#pragma once

#include <cstdint>
#include <numbers>
#include <type_traits>
#include <vector>

#include "largo/runtime/array_view.hpp"
#include "largo/runtime/execution.hpp"
#include "measures/weighted_sums.hpp"
#include "runtime/aligned_vector.hpp"

namespace largo::measures {

/// The sums to compute besides the partition Σ w.
enum class TiltTask : std::uint8_t {
  partition,
  mean,               ///< Σ w z
  covariance,         ///< Σ w z and Σ w x_i x_j (i <= j), with x = z - centre
  covariance_product  ///< Σ w x and Σ w <h,x> x
};

inline constexpr std::int64_t kBlock = 96;
inline constexpr std::int64_t kSegment = 8192;
/// Directions handled in one pass over the prompt; more of them take several passes.
inline constexpr std::int64_t kDirectionsPerPass = 64;

/// The ratio of second moment to covariance above which the covariance is computed again, around the tilted
/// mean: the softmax has then concentrated on few tokens, far from the centre of the prompt.
template <typename T>
constexpr double kMostCancellation = std::is_same_v<T, float> ? 10 : 1000;

/// Scores are in units of this: float arithmetic works in base 2, where an exponential costs a third less.
template <typename T>
inline constexpr double kScoreUnit = std::is_same_v<T, float> ? std::numbers::ln2 : 1.0;

/// Directions in a group, interleaved for the kernel: two vectors of AVX2, one of AVX-512, four of SSE.
template <typename T>
constexpr std::int64_t group_width(std::int64_t directions) {
  constexpr std::int64_t full = 64 / sizeof(T);
  return directions <= full / 2 ? full / 2 : full;
}

template <typename T>
struct TiltProblem {
  ArrayView tokens;
  const double* log_weights = nullptr;  ///< one per token, or null for equal weights
  TiltTask task = TiltTask::partition;
  std::int64_t groups = 0;
  std::int64_t width = 0;
  runtime::AlignedVector<T> directions;  ///< a / kScoreUnit, as [group][coordinate][lane]
  runtime::AlignedVector<T> vectors;     ///< h, the same layout; for covariance_product
  std::vector<T> centre;                 ///< near the tokens; for covariance and covariance_product

  std::int64_t dimension() const { return tokens.columns; }
  std::int64_t rows() const;  ///< sums per direction
  static constexpr auto rounding() {
    return std::is_same_v<T, double> ? WeightedSums::Rounding::compensated : WeightedSums::Rounding::plain;
  }
};

/// Rows of the sums; the feature blocks follow each other in this order, absent ones being empty.
struct SumLayout {
  std::int64_t partition = 0;
  std::int64_t tokens;    ///< Σ w z
  std::int64_t centred;   ///< Σ w x
  std::int64_t pairs;     ///< Σ w x_i x_j, row i after row i-1, j from i on
  std::int64_t products;  ///< Σ w <h,x> x
  std::int64_t rows;

  SumLayout(TiltTask task, std::int64_t dimension);
};

/// The sums of tokens [begin, end), at most kSegment of them, at the SIMD level in use.
void accumulate_segment(const TiltProblem<float>& problem, std::int64_t begin, std::int64_t end,
                        WeightedSums& sums);
void accumulate_segment(const TiltProblem<double>& problem, std::int64_t begin, std::int64_t end,
                        WeightedSums& sums);

/// e^{score - reference}, with the bits that the float64 kernel gives it.
double weight_of(double score, double reference);

/// The sums of the whole prompt. Memory: a few WeightedSums per thread.
template <typename T>
WeightedSums accumulate_prompt(const TiltProblem<T>& problem, const Execution& execution);

}  // namespace largo::measures
