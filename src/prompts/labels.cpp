#include "prompts/labels.hpp"

#include <iterator>
#include <numeric>

#include "prompts/token_source.hpp"
#include "prompts/token_transforms.hpp"

namespace largo::prompts {

std::vector<double> cumulative_probabilities(std::span<const double> probabilities) {
  std::vector<double> cumulative(probabilities.size());
  std::partial_sum(probabilities.begin(), probabilities.end(), cumulative.begin());
  return cumulative;
}

std::vector<std::int64_t> count_labels(const std::vector<double>& cumulative, std::uint64_t seed,
                                       std::uint64_t prompt, std::int64_t first, std::int64_t size) {
  std::vector<std::int64_t> counts(cumulative.size());
  alignas(64) std::uint32_t high[kChunkTokens], low[kChunkTokens];
  for (std::int64_t done = 0; done < size; done += kChunkTokens) {
    const auto chunk = static_cast<std::size_t>(std::min<std::int64_t>(kChunkTokens, size - done));
    random::token_words(lane_address(seed, prompt, kLabelLane, static_cast<std::uint64_t>(first + done)),
                        (chunk + random::kTokensAtOnce - 1) / random::kTokensAtOnce, high, low);
    for (std::size_t i = 0; i < chunk; ++i) {
      const double target = open_uniform(high[i], low[i]) * cumulative.back();
      const auto at = std::upper_bound(cumulative.begin(), std::prev(cumulative.end()), target);
      ++counts[static_cast<std::size_t>(at - cumulative.begin())];
    }
  }
  return counts;
}

}  // namespace largo::prompts
