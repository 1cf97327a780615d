// Sums over the tokens of many prompts at a time, on a device: what TokenSums and score_sums give for each,
// to the bit.
#pragma once

#include <cstdint>
#include <span>

#include "largo/measures/token_leaf.hpp"
#include "largo/numerics/execution.hpp"
#include "sampling/token_sums.hpp"

namespace largo {

/// Prompts first, first + 1, ... of a seed, each of `length` tokens.
struct PromptRange {
  std::uint64_t seed = 1, first = 0;
  std::int64_t prompts = 0, length = 1;
};

class PromptEngine {
 public:
  virtual ~PromptEngine() = default;

  /// Tokens of a leaf from lanes first_lane on, along directions as the standard tokens see them:
  /// base_dimension() numbers, the same for all prompts or as many for each. Writes a row for each prompt:
  /// its sums, in the order of TokenSums, and their top. InputError for leaves and dimensions that the device
  /// has no kernel for. Throws Stopped.
  virtual void sum_tokens(const TokenLeaf& leaf, std::uint64_t first_lane, SumOrder order,
                          std::span<const double> directions, const PromptRange& range,
                          const Execution& execution, std::span<double> rows) const = 0;

  /// Gaussian scores from `lane` on, of one rate and shift for all prompts or one for each. Writes a row of
  /// kScoreRow numbers for each prompt: ScoreSums in the order of its members.
  static constexpr std::size_t kScoreRow = 8;
  virtual void sum_scores(std::uint64_t lane, std::span<const double> rates, std::span<const double> shifts,
                          const PromptRange& range, const Execution& execution,
                          std::span<double> rows) const = 0;

 protected:
  PromptEngine() = default;
  PromptEngine(const PromptEngine&) = default;
  PromptEngine& operator=(const PromptEngine&) = default;
};

/// Rows of prompts that a device has summed.
struct PreparedPrompts {
  std::uint64_t first = 0;
  std::size_t width = 0;
  AlignedVector<double> rows;

  std::span<const double> row(std::uint64_t prompt) const {
    return {rows.data() + static_cast<std::size_t>(prompt - first) * width, width};
  }
};

}  // namespace largo
