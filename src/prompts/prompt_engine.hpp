// Sums over the tokens of many prompts at a time, on a device, with the same bits as TokenSums and score_sums
// give for each prompt.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "largo/measures/token_leaf.hpp"
#include "largo/runtime/device.hpp"
#include "largo/runtime/execution.hpp"
#include "prompts/token_sums.hpp"

namespace largo::prompts {

/// Prompts first, first + 1, ... of a seed, each of `length` tokens.
struct PromptRange {
  std::uint64_t seed = 1, first = 0;
  std::int64_t prompts = 0, length = 1;
};

/// A leaf of a law, and where the sums over its tokens go.
struct LeafSums {
  const TokenLeaf* leaf = nullptr;
  std::uint64_t first_lane = 0;
  /// The directions as the standard tokens see them: base_dimension() numbers, either one set for all prompts
  /// or one for each.
  std::span<const double> directions;
  /// One row for each prompt: the sums in the order of TokenSums, then their top. Zeros if it has no tokens.
  std::span<double> rows;
};

class PromptEngine : public Engine {
 public:
  /// Sums over all leaves of a law, which share the tokens of a prompt as share_out_labels() assigns them.
  /// InputError for leaves and dimensions for which the device has no kernel. Throws Stopped.
  virtual void sum_tokens(std::span<const LeafSums> leaves, SumOrder order, const PromptRange& range,
                          const Execution& execution) const = 0;

  /// Sums over Gaussian scores, drawn from `lane`, with one rate and shift for all prompts or one for each.
  /// Writes a row of kScoreRow numbers for each prompt: the members of ScoreSums in order.
  static constexpr std::size_t kScoreRow = 8;
  virtual void sum_scores(std::uint64_t lane, std::span<const double> rates, std::span<const double> shifts,
                          const PromptRange& range, const Execution& execution,
                          std::span<double> rows) const = 0;
};

/// Rows of prompts that a device has summed.
struct PreparedPrompts {
  struct Rows {
    std::size_t width = 0;
    runtime::AlignedVector<double> numbers;
  };
  std::uint64_t first = 0;
  std::vector<Rows> leaves;  ///< a single one for scores

  /// Makes room for `count` rows of a leaf.
  std::span<double> room(std::size_t leaf, std::int64_t count, std::size_t width) {
    Rows& rows = leaves[leaf];
    rows.width = width;
    rows.numbers.resize(static_cast<std::size_t>(count) * width);
    return rows.numbers;
  }
  std::span<const double> row(std::size_t leaf, std::uint64_t prompt) const {
    const Rows& rows = leaves[leaf];
    return {rows.numbers.data() + static_cast<std::size_t>(prompt - first) * rows.width, rows.width};
  }
};

}  // namespace largo::prompts
