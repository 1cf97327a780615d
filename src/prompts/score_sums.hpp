// Scores of a prompt without its tokens: all that attention asks of a law whose score law is known.
//
// Within one component of a score law the scores are centre + scale v_i with v_i i.i.d. standard
// (score_law.hpp). One random number and one exponential a token, whatever the dimension.
#pragma once

#include <cstdint>

#include "largo/measures/score_law.hpp"
#include "largo/runtime/execution.hpp"

namespace largo::prompts {

/// Sums over the tokens with w = e^{rate v} 2^-top and V = v - shift.
struct ScoreSums {
  double w = 0, wv = 0, wvv = 0;     ///< Σ w, Σ w V, Σ w V²
  double ww = 0, wwv = 0, wwvv = 0;  ///< Σ w², Σ w² V, Σ w² V²
  double www = 0;                    ///< Σ w³
  std::int64_t top = 0;

  /// The same tokens and others.
  void merge(const ScoreSums& other);
};

/// The law of the v_i.
struct StandardScore {
  ScoreShape shape = ScoreShape::gaussian;
  double order = 3;  ///< bounded only
};

/// Lanes of scores, apart from those of tokens.
inline constexpr std::uint64_t kScoreLanes = std::uint64_t{1} << 20;

/// Where the draws of a component come from: a lane of the prompt (token_source.hpp).
struct ScoreAddress {
  std::uint64_t seed = 0;
  std::uint64_t prompt = 0;
  std::uint64_t lane = 0;
};

/// InputError for scores that spread too far to be drawn.
void check_score_rate(double rate);

/// Tokens first, ..., first + count - 1 (first a multiple of 2^14). Domain: order >= 2, 0 <= rate <= 1e11,
/// otherwise InputError. In float32 (draws and weights to 2^-22), summed in float64 every 256 tokens; the
/// same bits at every SIMD level. Throws Stopped. Cost: 3 ns a token (gaussian), 6 ns (bounded) with AVX2.
ScoreSums score_sums(const StandardScore& score, const ScoreAddress& address, std::int64_t first,
                     std::int64_t count, double rate, double shift, const Execution& execution);

}  // namespace largo::prompts
