// What an audit of heads is asked for.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

namespace largo {

/// Which keys a query sees: all, or those up to its own position.
enum class Visibility : std::uint8_t { all, causal };

struct HeadSinks {
  /// Positions in the prompt, negative ones from its end. None: found from the weights of the head.
  std::optional<std::vector<std::int64_t>> positions = std::nullopt;
};

// The domain of the options, for messages and help.
inline constexpr std::int64_t kMostSinks = 32;
inline constexpr std::int64_t kDefaultAuditQueries = 128;
inline constexpr double kDefaultTolerance = 0.1;

struct AuditOptions {
  Visibility visibility = Visibility::all;
  std::optional<double> scale = std::nullopt;  ///< of the scores; none: 1/√head_dim
  HeadSinks sinks = {};
  std::int64_t recent = 0;  ///< keys less than this far from the query's own position are recent
  std::int64_t queries = kDefaultAuditQueries;  ///< of each head, evenly spaced; 0: all
  double tolerance = kDefaultTolerance;         ///< for the verdict and the lengths
  /// Queries that share a pass over the keys; 0: as many as fit into 32 MB. Results do not depend on it.
  std::int64_t block = 0;
  std::function<void(double share)> progress = {};
};

}  // namespace largo
