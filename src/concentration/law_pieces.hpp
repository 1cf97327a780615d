// A law as a mixture of pieces that moments and partition functions can be bounded for: normal ones, possibly
// with a random radius, bounded ones, and those of which nothing is known but values of Λ.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "largo/measures/measure.hpp"
#include "largo/measures/token_leaf.hpp"

namespace largo::concentration {

enum class PieceKind : std::uint8_t { normal, bounded, unknown };

struct LawPiece {
  PieceKind kind = PieceKind::unknown;
  double probability = 1;
  Vector offset;                     ///< normal: z = offset + √W root g
  Matrix root;                       ///< normal
  std::optional<RadialLaw> radius;   ///< normal: the law of W; none if W = 1
  std::optional<TokenLeaf> bounded;  ///< refers to the law

  /// The largest W.
  double largest() const { return radius ? radius->largest() : 1; }
};

/// The pieces of a law, which must outlive them, and what is known of the law as a whole.
struct LawPieces {
  std::vector<LawPiece> pieces;
  std::optional<double> sigma;  ///< a proved sub-Gaussian constant
  Vector mean;                  ///< empty if it is not known

  bool all(PieceKind kind) const;
  /// Whether all pieces are Gaussian laws.
  bool all_gaussian() const;
  /// Whether it is one Gaussian law, or a point.
  bool is_gaussian() const;
};
LawPieces pieces_of(const Measure& law);

/// A value, and whether it is one or only an upper bound.
struct BoundedValue {
  double value = 0;
  bool exact = true;
};

/// size^{2p} as a bound: with an allowance for rounding, and not zero unless the size is.
BoundedValue bound_of_power(double size, int p);

/// E‖shift + A z + g‖^{2p}, z ~ the law and g ~ N(0, noise), or a bound on it; none if nothing is known. It
/// is exact for Gaussian pieces. For others, norms are added by Minkowski's inequality: those of normal
/// pieces at the largest radius, those of bounded ones from their reach, and for unknown ones from the
/// sub-Gaussian constant of the law (sub_gaussian_norm).
std::optional<BoundedValue> norm_moment(const LawPieces& law, const ConstMatrixRef& A, const Vector& shift,
                                        const ConstMatrixRef& noise, int p);

/// A bound on (E_{ν_a}‖z − mean‖^{2p})^{1/p} for every σ-sub-Gaussian law on R^d, p >= 1:
///   4σ² { ln(e^{p-1} + 2^{d/2}) + σ²‖a‖² }.
/// Since it is linear in ‖a‖², it may be averaged: `a_square` is ‖a‖², or its norm in L^p over the queries.
double sub_gaussian_norm(double sigma, Eigen::Index d, int p, double a_square);

}  // namespace largo::concentration
