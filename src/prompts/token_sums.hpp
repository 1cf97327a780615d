// Softmax-weighted sums over tokens that are given coordinate by coordinate, a chunk at a time.
//
// The tokens are x_i in R^k, the weights w_i = 2^{t_i} with t_i = <a, x_i> log2 e. Sums are kept relative to
// 2^top with an integer top that follows the largest score, so that rescaling them is exact. Within a chunk
// they are kept in T, in partial sums by lane; between chunks in float64.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "largo/runtime/matrix.hpp"
#include "prompts/prompt_layout.hpp"
#include "runtime/aligned_vector.hpp"

namespace largo::prompts {

enum class SumOrder : std::uint8_t {
  mean,        ///< Σ w, Σ w², Σ w x
  gradient,    ///< Σ w, Σ w v, then Σ w x_j, Σ w v x_j for each coordinate; values v = <b, x>
  covariance,  ///< those of mean, and Σ w x xᵀ
};

/// Number of these sums for tokens of this dimension.
constexpr std::size_t sum_count(std::size_t dimension, SumOrder order) {
  if (order == SumOrder::gradient) return 2 + 2 * dimension;
  return 2 + dimension + (order == SumOrder::covariance ? dimension * (dimension + 1) / 2 : 0);
}

template <typename T>
class TokenSums {
 public:
  TokenSums(std::size_t dimension, SumOrder order);

  /// Starts a prompt. `values` is read for SumOrder::gradient only.
  void begin(const ConstVectorRef& direction, const ConstVectorRef& values);
  /// Adds `count` tokens, at most kChunkTokens. Coordinate j of token i is tokens[kChunkTokens j + i]; the
  /// array is aligned to 64 bytes, has room for whole chunks and finite numbers up to the next multiple of
  /// eight. InputError for scores beyond 1e12 ln 2. Error: a rounding of T in t_i and in each product. The
  /// same bits at every SIMD level. Cost for a vector of tokens: an exponential and 4 operations per
  /// coordinate (mean).
  void add(const T* tokens, std::size_t count);
  /// Takes over the sums of a whole prompt that were computed elsewhere, in the order in which they are kept
  /// here, followed by their top.
  void set(std::span<const double> sums_and_top);

  /// The sums over all tokens since begin(), or zero if there were none.
  double weight() const { return sums_[0]; }          ///< Σ w 2^-top
  double squared_weight() const { return sums_[1]; }  ///< Σ w² 2^-2top, not for SumOrder::gradient
  std::int64_t top() const { return top_; }
  double value() const { return sums_[1]; }  ///< Σ w v 2^-top
  using Part = Eigen::Map<const Vector, Eigen::Unaligned, Eigen::InnerStride<>>;
  Part mean() const { return part(2); }
  Part gradient() const { return part(3); }
  /// Σ w x xᵀ 2^-top
  Matrix second_moment() const;

 private:
  Part part(std::size_t first) const {
    return {sums_.data() + first, static_cast<Eigen::Index>(dimension_),
            Eigen::InnerStride<>(order_ == SumOrder::gradient ? 2 : 1)};
  }

  std::size_t dimension_;
  SumOrder order_;
  std::vector<T> direction_, values_;
  runtime::AlignedVector<T> scores_, weights_, products_;  // of one chunk
  std::vector<const T*> columns_;                          // of one chunk
  runtime::AlignedVector<T> partial_;
  std::vector<double> totals_, sums_;  // of one chunk, and of all
  std::int64_t top_ = 0;
  bool empty_ = true;
};

}  // namespace largo::prompts
