// A prompt of any law, drawn in full and attended over in one pass; memory does not grow with its length.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "largo/measures/measure.hpp"
#include "largo/measures/token_leaf.hpp"
#include "prompts/prompt_engine.hpp"
#include "prompts/token_source.hpp"
#include "prompts/token_sums.hpp"

namespace largo::prompts {

/// The tilt of the empirical measure of a prompt, and how evenly its weights are spread.
struct PromptTilt {
  double log_partition = 0;  ///< ln (1/L) Σ e^{<a, z_i>}
  double p2 = 0;             ///< Σ p_i²
  Vector mean;               ///< Σ p_i z_i
  Matrix value_covariance;   ///< V times the covariance, if requested
};

/// The first lane of each leaf. InputError if there are not enough lanes.
std::vector<std::uint64_t> leaf_lanes(const std::vector<TokenLeaf>& leaves);

template <typename T>
class FullPrompt {
 public:
  /// The leaves of a law of this dimension, which must outlive this; V is null if no covariance is wanted.
  FullPrompt(const std::vector<TokenLeaf>& leaves, std::ptrdiff_t dimension, const Matrix* V);

  /// Attends over L tokens (1 <= L < kMostTokens) along a. Arithmetic is in T, summed in float64 every 256
  /// tokens. Throws Stopped.
  void attend(const ConstVectorRef& direction, std::uint64_t seed, std::uint64_t prompt, std::int64_t L,
              const Execution& execution, PromptTilt& tilt);

  /// The same for a prompt whose sums a device has computed.
  void attend_sums(const ConstVectorRef& direction, const PreparedPrompts& prepared, std::uint64_t prompt,
                   std::int64_t L, PromptTilt& tilt);

 private:
  struct Leaf {
    const TokenLeaf* law = nullptr;
    std::unique_ptr<TokenSource<T>> source;
    TokenSums<T> sums;
    Matrix VM = {};      // V times scale and map
    bool drawn = false;  // whether this prompt has tokens of the leaf
    double factor = 0;   // factor of its sums, relative to that of the largest leaf

    bool has_offset() const { return law->offset.size() > 0; }
  };
  void add_tokens(Leaf& leaf, std::uint64_t seed, std::uint64_t prompt, std::int64_t first,
                  std::int64_t count, const Execution& execution);
  void combine(const ConstVectorRef& direction, std::int64_t L, PromptTilt& tilt);
  void combine_covariances(double weight, PromptTilt& tilt) const;

  std::ptrdiff_t dimension_;
  const Matrix* V_;
  std::vector<Leaf> leaves_;
  std::vector<double> cumulative_;
  runtime::AlignedVector<T> chunk_;
};

}  // namespace largo::prompts
