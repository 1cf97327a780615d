// The scores of a prompt without its tokens: attention needs nothing else if the score law is known.
//
// Within one component of a score law the scores are centre + scale v_i with i.i.d. standard v_i
// (score_law.hpp). A token takes one random number and one exponential in any dimension.
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

  /// Adds the sums over other tokens.
  void merge(const ScoreSums& other);
};

/// The law of the v_i.
struct StandardScore {
  ScoreShape shape = ScoreShape::gaussian;
  double order = 3;  ///< for bounded shapes only
};

/// The first lane for scores; those before it are for tokens.
inline constexpr std::uint64_t kScoreLanes = std::uint64_t{1} << 20;

/// Where the draws of a component come from: a lane of the prompt (token_source.hpp).
struct ScoreAddress {
  std::uint64_t seed = 0;
  std::uint64_t prompt = 0;
  std::uint64_t lane = 0;
};

/// InputError for scores whose spread is too large for them to be drawn.
void check_score_rate(double rate);

/// Sums over the tokens first, ..., first + count - 1 (first is a multiple of 2^14). Domain: order >= 2, 0 <=
/// rate <= 1e11, otherwise InputError. Arithmetic is in float32 (draws and weights to 2^-22), summed in
/// float64 every 256 tokens, with the same bits at every SIMD level. Throws Stopped. Cost: 3 ns a token
/// (gaussian), 6 ns (bounded) with AVX2.
ScoreSums score_sums(const StandardScore& score, const ScoreAddress& address, std::int64_t first,
                     std::int64_t count, double rate, double shift, const Execution& execution);

}  // namespace largo::prompts
