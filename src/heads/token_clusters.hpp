// The tokens of a head, but for its sinks, in the components of a Gaussian mixture over (k, v).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "largo/heads/captured_head.hpp"

namespace largo::heads {

inline constexpr int kMostComponents = 8;

struct TokenClusters {
  int count = 1;
  std::vector<std::uint8_t> of;  ///< the component of each token; empty if there is one
};

/// A mixture of m = 1, 2, 4 or 8 Gaussians, fitted by EM to the first kCoordinates principal coordinates of
/// (k, v), where keys and values have the same total variance. It is fitted to every second of at most 2048
/// evenly spaced tokens; m has the greatest likelihood on the others. Each token belongs to the component
/// that most likely drew it. Nothing is random: the start is k-means++ with draws of a fixed seed.
/// Cost: some 30 ms, and 10 ns for each number of a key or value.
TokenClusters token_clusters(const CapturedHead& head, std::span<const std::int64_t> sinks);

}  // namespace largo::heads
