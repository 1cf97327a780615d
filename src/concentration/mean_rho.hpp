// The average of ρ(Uz) = e^{Λ(2Uz) − 2Λ(Uz)} over a law of queries: whether it is finite, and its value or a
// bound.
#pragma once

#include <optional>

#include "concentration/law_pieces.hpp"

namespace largo::concentration {

/// A mixture has ρ <= Σ_j ρ_j/p_j over its pieces, and ρ_j is e^{s²} for a Gaussian piece, at most e^{2R‖a‖}
/// for one within a ball of radius R, and at most P(W >= w)⁻² e^{(2 w_max − w) s²} for one with a random
/// radius. Averages of these over normal queries are closed, and finite if 2 growth < 1. If 2 growth > 1, the
/// average of ρ is infinite: along the direction of the growth ln ρ grows like s² of the widest piece.
struct MeanRho {
  std::optional<double> log_value;  ///< ln E ρ, or a bound on it; none if no finite one was found
  bool exact = false;
  bool diverges = false;
  double growth = 0;  ///< the largest ‖Γ^{1/2} U Σ_q^{1/2}‖² over normal pieces of tokens and queries
};
MeanRho mean_rho(const LawPieces& tokens, const LawPieces& queries, const Matrix& U);

}  // namespace largo::concentration
