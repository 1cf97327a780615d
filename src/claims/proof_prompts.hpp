// Prompts of Gaussian tokens, and what the proof of the concentration of attention looks at in them.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <vector>

#include "claims/claims.hpp"

namespace largo::claims {

constexpr double kProofDimension = 4;
inline constexpr std::array kProofSpreads = {0.5, 1.0, 2.0, 3.0};

/// The truncation M.
inline double largest_allowed(double L) { return std::sqrt(L); }

/// The numbers of a prompt with scores s g_i, averaged over the coordinates that the scores do not see. Its
/// weights are w_i = e^{s g_i − s²/2}, of mean one.
enum PromptNumber : std::size_t {
  kDenominator,   ///< (1/L) Σ w_i
  kNumerator,     ///< (1/L) Σ w_i g_i
  kTruncated,     ///< (1/L) Σ e^{s g_i} over those at most M
  kSquaredError,  ///< ‖T[μ̂_L] − T[μ]‖²
  kFirstRegime,   ///< 1 if all e^{s g_i} are at most M
  kOutside,       ///< 1 if |Σ p_i g_i| > max |g_i|, which cannot be
  kPromptNumbers
};
using PromptRow = std::array<double, kPromptNumbers>;
using Prompts = std::vector<PromptRow>;

/// Prompts of L tokens, for each of the spreads the same normals. Cost: 15 ns a token.
std::array<Prompts, kProofSpreads.size()> draw_proof_prompts(std::int64_t L, std::ptrdiff_t count,
                                                             const ClaimOptions& options);

}  // namespace largo::claims
