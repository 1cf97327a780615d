// Attention over the prefixes of one prompt: how far it is from its limit as token after token is added.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "largo/measures/measure.hpp"

namespace largo::estimation {

/// Lengths from just after the end of the stretch before, or from 1, to `last`. All of them are looked at,
/// not only the last one.
struct PromptStretch {
  std::int64_t last = 0;
  double distance = 0;          ///< ‖T[μ̂_L] − limit‖ at the last length
  double largest_distance = 0;  ///< the largest of these distances
  double largest_scaled = 0;    ///< the largest √L ‖T[μ̂_L] − limit‖
};

/// Draws one prompt of the law, and follows T[μ̂_L] = V mean(ν̂_a) over its first L tokens for every L up to
/// the end of the last stretch. Domain: stretches end at increasing lengths, at least 1; V has as many
/// columns, and `direction` = a as many entries, as tokens have coordinates; the limit has as many entries as
/// V has rows. Otherwise InputError. Sums are in float64, of weights relative to their mean; they must not
/// overflow, and do not for scores within 700 of Λ(a). Bit-identical for any number of threads. Cost: 30 to
/// 80 ns a token; memory does not grow with the prompt. Throws Stopped.
std::vector<PromptStretch> follow_growing_prompt(const Measure& law, const ConstMatrixRef& V,
                                                 const ConstVectorRef& direction, const ConstVectorRef& limit,
                                                 const Stream& stream,
                                                 std::span<const std::int64_t> stretch_ends,
                                                 const Execution& execution = {});

}  // namespace largo::estimation
