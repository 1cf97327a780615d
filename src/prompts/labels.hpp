// Assigns the tokens of a mixture to its components.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "prompts/prompt_layout.hpp"

namespace largo::prompts {

/// Cumulative sums of the probabilities of the components.
std::vector<double> cumulative_probabilities(std::span<const double> probabilities);

/// How many of the tokens first, ..., first + size - 1 belong to each component. `first` is a multiple of
/// kLabelSpan, and size is at most kLabelSpan.
std::vector<std::int64_t> count_labels(const std::vector<double>& cumulative, std::uint64_t seed,
                                       std::uint64_t prompt, std::int64_t first, std::int64_t size);

/// Calls use(k, first, count) for `count` tokens of component k, numbered from `first` on. Attention does not
/// depend on the order of the tokens, so each component may number its own.
template <typename Use>
void share_out_labels(const std::vector<double>& cumulative, std::uint64_t seed, std::uint64_t prompt,
                      std::int64_t L, const Use& use) {
  if (cumulative.size() == 1) {
    use(std::size_t{0}, std::int64_t{0}, L);
    return;
  }
  for (std::int64_t first = 0; first < L; first += kLabelSpan) {
    const std::vector<std::int64_t> counts =
        count_labels(cumulative, seed, prompt, first, std::min(kLabelSpan, L - first));
    for (std::size_t k = 0; k < counts.size(); ++k) {
      if (counts[k] > 0) use(k, first, counts[k]);
    }
  }
}

}  // namespace largo::prompts
