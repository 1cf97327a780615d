#include "concentration/law_pieces.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "concentration/quadratic_moments.hpp"
#include "concentration/tilted_moments.hpp"
#include "largo/runtime/check.hpp"
#include "numerics/factor.hpp"

namespace largo::concentration {
namespace {

constexpr double kSame = 1e-12;  // relative: laws that differ by rounding are one

// A radius that takes one value is part of the map.
void fold_constant_radius(LawPiece& piece) {
  if (!piece.radius) return;
  const RadialLaw& radius = *piece.radius;
  if (radius.cumulative().empty()) return;  // uniform on an interval
  std::optional<double> only;
  const RadialLaw::Nodes nodes = radius.nodes(1);  // cumulative sums do not see tiny weights
  for (Eigen::Index i = 0; i < nodes.values.size(); ++i) {
    if (!(nodes.weights[i] > 0)) continue;
    if (only && *only != nodes.values[i]) return;
    only = nodes.values[i];
  }
  piece.root *= std::sqrt(only.value_or(0));
  piece.radius.reset();
}

LawPiece piece_of(const TokenLeaf& leaf, Eigen::Index d) {
  LawPiece piece;
  piece.probability = leaf.probability;
  const Matrix I = Matrix::Identity(d, d);
  if (reach(leaf, I, Vector::Zero(d))) {
    piece.kind = PieceKind::bounded;
    piece.bounded = leaf;
  } else if (std::holds_alternative<NormalTokens>(leaf.base)) {
    piece.kind = PieceKind::normal;
    piece.offset = leaf.whole_offset();
    piece.root = leaf.whole_map();
    piece.radius = leaf.squared_radius;
    fold_constant_radius(piece);
  }
  return piece;
}

// (E‖g‖^{2p})^{1/2p}
double noise_norm(const ConstMatrixRef& noise, int p) {
  return std::pow(gaussian_norm_moment(Vector::Zero(noise.rows()), noise, p), 0.5 / p);
}

BoundedValue piece_moment(const LawPiece& piece, const ConstMatrixRef& A, const Vector& shift,
                          const ConstMatrixRef& noise, int p) {
  if (piece.kind == PieceKind::bounded) {
    const double farthest = reach(*piece.bounded, A, Vector::Zero(A.cols())).value();
    return bound_of_power(shift.norm() + farthest + noise_norm(noise, p), p);
  }
  const Matrix root = A * piece.root;
  const Vector centre = shift + A * piece.offset;
  if (!piece.radius) return {gaussian_norm_moment(centre, root * root.transpose() + noise, p), true};
  const Matrix widest = piece.largest() * (root * root.transpose()) + noise;
  return bound_of_power(centre.norm() + noise_norm(widest, p), p);
}

}  // namespace

BoundedValue bound_of_power(double size, int p) {
  constexpr double kRounded = 1 + 1e-12;
  if (size == 0) return {0, false};
  return {std::max(kRounded * std::pow(size, 2 * p), std::numeric_limits<double>::min()), false};
}

bool LawPieces::all(PieceKind kind) const {
  return std::all_of(pieces.begin(), pieces.end(), [&](const LawPiece& piece) { return piece.kind == kind; });
}

bool LawPieces::all_gaussian() const {
  return all(PieceKind::normal) &&
         std::none_of(pieces.begin(), pieces.end(), [](const LawPiece& piece) { return piece.radius; });
}

bool LawPieces::is_gaussian() const {
  const LawPiece& first = pieces.front();
  const Eigen::Index d = mean.size();
  if (all(PieceKind::bounded))
    return pieces.size() == 1 && reach(*first.bounded, Matrix::Identity(d, d), mean) == 0;
  if (!all_gaussian()) return false;
  const Matrix covariance = first.root * first.root.transpose();
  const double size = covariance.norm();
  return std::all_of(pieces.begin(), pieces.end(), [&](const LawPiece& piece) {
    return (piece.offset - first.offset).squaredNorm() <= kSame * kSame * size &&
           (piece.root * piece.root.transpose() - covariance).norm() <= kSame * size;
  });
}

LawPieces pieces_of(const Measure& law) {
  LawPieces whole;
  const bool proved = law.sub_gaussian_kind() != SubGaussianKind::at_least;
  try {
    whole.mean = law.mean();
    for (const TokenLeaf& leaf : law.token_leaves()) {
      if (leaf.probability > 0) whole.pieces.push_back(piece_of(leaf, law.dimension()));
    }
  } catch (const InputError&) {
    if (proved) throw;
    whole.pieces.assign(1, LawPiece{});  // Λ of a law of the user's own is not finite around zero
    return whole;
  }
  if (proved) whole.sigma = law.sub_gaussian_constant();
  return whole;
}

// ν_a has E e^{λ‖y‖²} <= E e^{σ²‖a + √(2λ) g‖²/2} = (1 − 2λσ²)^{-d/2} e^{σ²‖a‖²/(2(1 − 2λσ²))} for y = z −
// mean and g standard normal, because E_μ e^{<a, y>} >= 1. With λ = 1/(4σ²) the right side is 2^{d/2}
// e^{σ²‖a‖²}, and (ln u)^p is concave from u = e^{p-1} on.
double sub_gaussian_norm(double sigma, Eigen::Index d, int p, double a_square) {
  const double half_d = 0.5 * static_cast<double>(d) * std::log(2.0), first = p - 1;
  const double larger = std::max(first, half_d);
  const double constant = larger + std::log(std::exp(first - larger) + std::exp(half_d - larger));
  return 4 * sigma * sigma * (constant + sigma * sigma * a_square);
}

std::optional<BoundedValue> norm_moment(const LawPieces& law, const ConstMatrixRef& A, const Vector& shift,
                                        const ConstMatrixRef& noise, int p) {
  BoundedValue sum;
  for (const LawPiece& piece : law.pieces) {
    if (piece.kind == PieceKind::unknown) {
      if (!law.sigma) return std::nullopt;
      const double around =
          numerics::operator_norm(A) * std::sqrt(sub_gaussian_norm(*law.sigma, A.cols(), p, 0));
      return bound_of_power((shift + A * law.mean).norm() + around + noise_norm(noise, p), p);
    }
    const BoundedValue one = piece_moment(piece, A, shift, noise, p);
    sum.value += piece.probability * one.value;
    sum.exact = sum.exact && one.exact;
  }
  return sum;
}

}  // namespace largo::concentration
