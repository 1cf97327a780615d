#include "descent_sharing.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

#include "prompts/prompt_layout.hpp"

namespace largo::cuda {
namespace {

constexpr int kMostOctets = 4;
constexpr int kOctetsInBlock = 32;
constexpr double kStepCost = 30;  // cost of a step besides its prompts, in tokens of each prompt

// Blocks of threads for a run: its share of those that the device holds, as a power of two, times `factor`.
int cluster_of(const RegressionBatches& batches, double fair, int factor, int most) {
  const auto blocks = static_cast<double>(std::min<std::size_t>(block_count(batches.prompts), 1 << 20));
  const double wanted = std::clamp(fair * cost_of(batches), 1.0, std::min<double>(most, blocks));
  const int cluster = static_cast<int>(std::bit_floor(static_cast<unsigned>(wanted)));
  return static_cast<int>(std::bit_floor(static_cast<unsigned>(
      std::min({static_cast<double>(cluster * factor), static_cast<double>(most), blocks}))));
}

// The prompts of a block are shared by up to four octets, if there are threads and chunks for them.
int octets_of(const RegressionBatches& batches, int cluster) {
  if (batches.attention == AttentionKind::linear) return 1;
  const auto blocks = static_cast<std::int64_t>(block_count(batches.prompts));
  const std::int64_t prompts = (blocks + cluster - 1) / cluster * prompts::kPromptsInBlock;
  const std::int64_t chunks = (batches.length + prompts::kCollapsedChunk - 1) / prompts::kCollapsedChunk;
  int octets = 1;
  while (octets < kMostOctets && 2 * octets * prompts <= kOctetsInBlock && octets < chunks) octets *= 2;
  return octets;
}

}  // namespace

std::vector<DescentGroup> share_chip(const std::vector<icl::RegressionDescent>& descents,
                                     const Residents& residents) {
  const int most = residents.largest_cluster;
  double work = 0;
  for (const icl::RegressionDescent& descent : descents) work += cost_of(descent.batches);
  const double fair = static_cast<double>(residents.blocks) / work;
  int best = 1, blocks = 0;
  double shortest = std::numeric_limits<double>::infinity();
  for (int factor = 1; factor <= most; factor *= 2) {
    int all = 0;
    double longest = 0;
    for (const icl::RegressionDescent& descent : descents) {
      const int cluster = cluster_of(descent.batches, fair, factor, most);
      all += cluster;
      longest = std::max(longest, kStepCost + cost_of(descent.batches) / cluster);
    }
    const double rounds = std::ceil(static_cast<double>(all) / residents.blocks);
    if (rounds * longest >= shortest) continue;
    shortest = rounds * longest;
    best = factor;
    blocks = all;
  }
  const bool apart = most > 1 && blocks <= residents.processors;
  std::map<std::pair<int, int>, std::vector<std::size_t>> members;  // by -cluster and -octets
  for (std::size_t i = 0; i < descents.size(); ++i) {
    const RegressionBatches& batches = descents[i].batches;
    const int cluster = cluster_of(batches, fair, best, most);
    const int octets =
        descents[i].prompts ? 1 : octets_of(batches, cluster);  // with other laws, a whole warp
    members[{-cluster, -octets}].push_back(i);
  }
  std::vector<DescentGroup> groups;
  for (auto& [shape, runs] : members) {
    groups.push_back({{-shape.first, -shape.second, apart}, std::move(runs)});
  }
  return groups;
}

}  // namespace largo::cuda
