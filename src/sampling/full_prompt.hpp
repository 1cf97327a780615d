// A prompt of any law, drawn in full and attended in one pass; nothing of its length is stored.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "largo/measures/measure.hpp"
#include "largo/measures/token_leaf.hpp"
#include "sampling/token_source.hpp"
#include "sampling/token_sums.hpp"

namespace largo {

/// The tilt of the empirical measure of a prompt, and how far its weights have spread.
struct PromptTilt {
  double log_partition = 0;  ///< ln (1/L) Σ e^{<a, z_i>}
  double p2 = 0;             ///< Σ p_i²
  Vector mean;               ///< Σ p_i z_i
  Matrix covariance;         ///< for SumOrder::covariance
};

template <typename T>
class FullPrompt {
 public:
  /// The law must outlive this. Order: mean or covariance.
  FullPrompt(const Measure& law, SumOrder order);

  /// L tokens (1 <= L <= kMostTokens) along a. Arithmetic in T, summed in float64 every 256 tokens. Throws
  /// Stopped.
  void attend(const ConstVectorRef& direction, std::uint64_t seed, std::uint64_t prompt, std::int64_t L,
              const Execution& execution, PromptTilt& tilt);

 private:
  struct Leaf {
    TokenLeaf law;
    std::unique_ptr<TokenSource<T>> source;
    TokenSums<T> sums;
  };
  void add_tokens(Leaf& leaf, std::uint64_t seed, std::uint64_t prompt, std::int64_t first,
                  std::int64_t count, const Execution& execution);
  void combine(const ConstVectorRef& direction, std::int64_t L, PromptTilt& tilt);

  std::ptrdiff_t dimension_;
  SumOrder order_;
  std::vector<Leaf> leaves_;
  std::vector<double> cumulative_;
  AlignedVector<T> chunk_;
};

}  // namespace largo
