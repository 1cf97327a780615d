// What an audit says of one head.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace largo {

/// What a head does, in a word. docs/heads.md and verdict.hpp have the thresholds.
enum class HeadKind : std::uint8_t { averaging, affine, sink, local, retrieval, mixed };
std::string_view name_of(HeadKind kind);

/// The error of L tokens drawn from those that a query sees, with replacement, relative like the others.
struct SampledLength {
  double L = 0;
  double measured = 0;   ///< E ‖T[μ̂_L] - T‖² of the law of the captured tokens: an exact formula
  double predicted = 0;  ///< the same for Gaussian tokens, from the spread of the scores and L
  double certified = 0;  ///< a bound on `measured` that is a theorem
};

struct ReplacementErrors {
  double uniform = 0, affine = 0, sinks_affine = 0, mixture = 0;
};

// The intervals of a ScoreHistogram: kScoreBins of one width from -kScoreRange to kScoreRange. The width is a
// power of two, so that its multiples are exact.
inline constexpr std::size_t kScoreBins = 40;
inline constexpr double kScoreRange = 5;
inline constexpr double kScoreBinWidth = 2 * kScoreRange / kScoreBins;

/// Where z = (s - mean)/std lies, for the scores s of every audited query, with the mean and the spread of
/// the scores of this query. An interval has its lower end and not its upper one. Queries whose scores all
/// agree have no z; every share is zero if all queries are like that.
struct ScoreHistogram {
  std::array<double, kScoreBins> shares = {};  ///< of all z, in each interval
  double below = 0, above = 0;                 ///< shares beyond the intervals
};

struct HeadAudit {
  std::int64_t layer = 0, sequence = 0, head = 0;
  std::int64_t tokens = 0, head_dim = 0, queries = 0;  ///< queries: how many were audited

  // Medians over queries.
  double score_std = 0, score_skewness = 0;
  double score_kurtosis = 0;  ///< excess: zero for a normal law
  double P2 = 0;              ///< Σ p²
  double P2_predicted = 0;    ///< by the exact engine: sinks planted, the others and the recent ones Gaussian
  double effective_tokens = 0;  ///< 1/P2
  double entropy = 0;
  double sink_mass = 0, recent_mass = 0;
  double local_mass = 0;  ///< weight of the keys less than kLocalWindow away
  double max_weight = 0;

  ReplacementErrors errors;  ///< over all audited queries
  /// Over every second of them, by which neither sinks nor components were chosen. None for a single query.
  std::optional<ReplacementErrors> held_out_errors;

  ScoreHistogram scores;

  std::vector<std::int64_t> sinks;  ///< positions, found or given
  std::int64_t components = 1;      ///< of the mixture

  std::vector<SampledLength> lengths;                ///< L = 1, 2, 4, …
  double length_measured = 0, length_predicted = 0;  ///< from which on the tolerance holds
  HeadKind kind = HeadKind::mixed;
};

/// The numbers of an audit by name, in the order of tables.
struct HeadField {
  const char* name;
  const char* meaning;
  double (*value)(const HeadAudit&);
};
std::span<const HeadField> head_fields();

}  // namespace largo
