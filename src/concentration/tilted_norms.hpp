// Moments of the norm of a token under a tilt, E_{ν_a}‖z‖⁴ and ‖z‖⁸, at a query and averaged over queries.
#pragma once

#include <optional>

#include "concentration/law_pieces.hpp"

namespace largo::concentration {

struct TiltedNorms {
  BoundedValue fourth, eighth;
};

/// At a with Λ(a) finite. Gaussian pieces have closed forms, weighted by the tilt; a prompt has its sums; for
/// any other law they are bounds from values of Λ. None if Λ is infinite so close to a that there is no
/// bound.
std::optional<TiltedNorms> tilted_norms(const Measure& law, const LawPieces& pieces, const Vector& a);

/// Averaged over a law of queries, a = Uz. Closed for Gaussian tokens under Gaussian queries: then the token
/// is N(m + ΓU m_q, Γ + ΓUΣ_qUᵀΓ). Otherwise a bound: for Gaussian tokens by Minkowski's inequality, for
/// bounded ones by their reach, and for any law with a proved σ by sub_gaussian_norm. None if none of these
/// applies.
std::optional<TiltedNorms> mean_tilted_norms(const LawPieces& tokens, const LawPieces& queries,
                                             const Matrix& U);

}  // namespace largo::concentration
