// The average of ρ(Uz) = e^{Λ(2Uz) − 2Λ(Uz)} over a law of queries: whether it is finite, and its value or a
// bound.
#pragma once

#include <optional>
#include <string>

#include "concentration/law_pieces.hpp"

namespace largo::concentration {

/// A mixture has ρ <= Σ_j ρ_j/p_j over its pieces, and ρ_j is e^{s²} for a Gaussian piece, at most e^{2R‖a‖}
/// for one within a ball of radius R, and at most P(W >= w)⁻² e^{(2 w_max − w) s²} for one with a random
/// radius. Averages of these over normal queries are closed, and finite if 2 growth < 1. If 2 growth > 1, the
/// average of ρ is infinite: along the direction of the growth ln ρ grows like s² of the widest piece. The
/// growth is ‖Γ^{1/2} U Σ_q^{1/2}‖².
struct MeanRho {
  /// ln E ρ, or a bound on it; none if no finite one was found, which proves nothing
  std::optional<double> log_value;
  bool exact = false;
  /// Whether the average is known to be finite, or infinite; neither if 2 growth is one up to rounding, or if
  /// a piece is known through a sub-Gaussian constant alone.
  bool converges = false, diverges = false;
  double norm = 0;  ///< the largest ‖Γ^{1/2} U Σ_q^{1/2}‖ over normal pieces of tokens and queries

  bool is_borderline() const { return !converges && !diverges && norm > 0; }
  /// "2|Γ^½ U Σ^½|² = 0.18 < 1", without the comparison if it is not known. `symbol` is the Σ.
  std::string comparison(const char* symbol) const;
  /// The end of the interval of θ for which ρ^θ has an average, 1/(2 growth), as text.
  std::string largest_power(const char* symbol) const;
};
/// Domain: finite U of any size; log_value is none where a term overflows.
MeanRho mean_rho(const LawPieces& tokens, const LawPieces& queries, const Matrix& U);

}  // namespace largo::concentration
