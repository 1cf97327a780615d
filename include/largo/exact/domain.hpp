// The domain of the exact engine, checked in one place.
#pragma once

#include <limits>
#include <string_view>

#include "largo/runtime/check.hpp"

namespace largo {

/// The largest prompt length. L is a double and need not be an integer.
inline constexpr double kLargestL = 1e300;
inline constexpr double kInfinitePrompt = std::numeric_limits<double>::infinity();
inline constexpr double kLargestScoreSpread = 1e6;

inline void check_score_spread(std::string_view function, double s) {
  if (!(s >= 0 && s <= kLargestScoreSpread)) {
    fail(function, "s", s, "between 0 and 1e6 (the spread of the scores: scale down U, tokens or query)");
  }
}

inline void check_prompt_length(std::string_view function, double L) {
  if (!(L >= 1 && L <= kLargestL) && L != kInfinitePrompt)
    fail(function, "L", L, "between 1 and 1e300, or inf");
}

}  // namespace largo
