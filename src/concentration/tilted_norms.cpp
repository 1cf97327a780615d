#include "concentration/tilted_norms.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "concentration/partition_domain.hpp"
#include "concentration/quadratic_moments.hpp"
#include "concentration/tilted_moments.hpp"
#include "largo/measures/empirical.hpp"
#include "largo/runtime/check.hpp"
#include "numerics/log_sum_exp.hpp"

namespace largo::concentration {
namespace {

constexpr double kNoMoment = std::numeric_limits<double>::infinity();
constexpr std::array kPowers = {2, 4};                        // p of ‖z‖^{2p}
constexpr std::array kFactorials = {24.0, 40320.0};           // (2p)!
constexpr double kLongestProbe = 64, kShortestProbe = 1e-12;  // lengths at which Λ is tried

// Gaussian pieces, weighted by p_j e^{Λ_j(a)}.
TiltedNorms norms_of_gaussians(const LawPieces& law, const Vector& a) {
  std::vector<double> scores;
  for (const LawPiece& piece : law.pieces) {
    scores.push_back(std::log(piece.probability) + a.dot(piece.offset) +
                     0.5 * (piece.root.transpose() * a).squaredNorm());
  }
  const Vector weights = numerics::softmax(scores);
  TiltedNorms sum;
  for (std::size_t j = 0; j < law.pieces.size(); ++j) {
    const LawPiece& piece = law.pieces[j];
    const double weight = weights[static_cast<Eigen::Index>(j)];
    if (weight == 0) continue;  // its moments may be infinite
    const Matrix covariance = piece.root * piece.root.transpose();
    const Vector mean = piece.offset + covariance * a;
    sum.fourth.value += weight * gaussian_norm_moment(mean, covariance, 2);
    sum.eighth.value += weight * gaussian_norm_moment(mean, covariance, 4);
  }
  return sum;
}

// From Λ alone: y^{2p} <= (2p)! cosh(cy)/c^{2p} for every c > 0, and (E‖z‖^{2p})^{1/p} <= Σ_i (E
// z_i^{2p})^{1/p}.
std::optional<TiltedNorms> norms_from_values(const Measure& law, const Vector& a) {
  const double centre = log_partition_at(law, a);
  std::array<double, 2> roots{};
  for (Eigen::Index i = 0; i < a.size(); ++i) {
    std::array<double, 2> least{kNoMoment, kNoMoment};
    for (double c = kLongestProbe; c > kShortestProbe; c /= 1.5) {
      const Vector offset = c * Vector::Unit(a.size(), i);
      const double above = log_partition_at(law, a + offset), below = log_partition_at(law, a - offset);
      const double log_cosh = std::max(above, below) - centre;  // at least ln E cosh(cy)
      for (std::size_t k = 0; k < least.size(); ++k)
        least[k] = std::min(least[k], kFactorials[k] * std::exp(log_cosh - 2 * kPowers[k] * std::log(c)));
    }
    for (std::size_t k = 0; k < least.size(); ++k) roots[k] += std::pow(least[k], 1.0 / kPowers[k]);
  }
  if (std::isinf(roots[0]) || std::isinf(roots[1])) return std::nullopt;
  return TiltedNorms{{std::pow(roots[0], 2), false}, {std::pow(roots[1], 4), false}};
}

// How far the tokens of a law with bounded pieces are from zero.
double reach_of(const LawPieces& law) {
  const Eigen::Index d = law.mean.size();
  double farthest = 0;
  for (const LawPiece& piece : law.pieces)
    farthest = std::max(farthest, reach(*piece.bounded, Matrix::Identity(d, d), Vector::Zero(d)).value());
  return farthest;
}

void take_smaller(BoundedValue& value, double bound) {
  if (bound < value.value) value = {bound, false};
}

// What holds for every tilt: bounds from the support and from σ. They serve where powers of tiny tokens
// vanish.
void bound_by_law(const LawPieces& law, const Vector& a, TiltedNorms& norms) {
  for (std::size_t k = 0; k < kPowers.size(); ++k) {
    const int p = kPowers[k];
    BoundedValue& value = k == 0 ? norms.fourth : norms.eighth;
    if (law.all(PieceKind::bounded)) take_smaller(value, bound_of_power(reach_of(law), p).value);
    const double around = std::sqrt(sub_gaussian_norm(*law.sigma, a.size(), p, a.squaredNorm()));
    take_smaller(value, bound_of_power(law.mean.norm() + around, p).value);
  }
}

}  // namespace

std::optional<TiltedNorms> tilted_norms(const Measure& law, const LawPieces& pieces, const Vector& a) {
  if (pieces.all_gaussian()) return norms_of_gaussians(pieces, a);
  const Eigen::Index d = law.dimension();
  const bool prompt = dynamic_cast<const EmpiricalMeasure*>(&law) != nullptr;
  const bool proved = law.sub_gaussian_kind() != SubGaussianKind::at_least;
  std::optional<TiltedNorms> norms;
  if (!proved) norms = norms_from_values(law, a);
  try {
    const TiltedMoments moments =
        tilted_moments(law, a, law.tilt(a), Matrix::Identity(d, d), Vector::Zero(d));
    if (!norms) norms = TiltedNorms{{kNoMoment, false}, {kNoMoment, false}};
    take_smaller(norms->fourth, moments.fourth);
    take_smaller(norms->eighth, moments.eighth);
    norms->fourth.exact = norms->eighth.exact = prompt;
    if (proved && !prompt) bound_by_law(pieces, a, *norms);
  } catch (const InputError&) {
    if (proved) throw;  // the differences of a law of the user's own reach beyond where Λ is finite
  }
  if (norms && (std::isinf(norms->fourth.value) || std::isinf(norms->eighth.value)) && !proved)
    return std::nullopt;
  return norms;
}

std::optional<TiltedNorms> mean_tilted_norms(const LawPieces& tokens, const LawPieces& queries,
                                             const Matrix& U) {
  const Eigen::Index d = U.rows();
  const Matrix none = Matrix::Zero(d, d);
  const Vector zero = Vector::Zero(d);
  TiltedNorms norms{{kNoMoment, false}, {kNoMoment, false}};
  bool known = false;
  for (std::size_t k = 0; k < kPowers.size(); ++k) {
    const int p = kPowers[k];
    BoundedValue& value = k == 0 ? norms.fourth : norms.eighth;
    if (tokens.all_gaussian() && tokens.pieces.size() == 1) {
      const LawPiece& law = tokens.pieces.front();
      const Matrix covariance = law.root * law.root.transpose();
      if (const auto moment = norm_moment(queries, covariance * U, law.offset, covariance, p)) {
        value = *moment;
        known = true;
        if (moment->exact) continue;
      }
    }
    if (tokens.all(PieceKind::bounded)) {
      take_smaller(value, bound_of_power(reach_of(tokens), p).value);
      known = true;
    }
    const auto scores = norm_moment(queries, U, zero, none, p);
    if (tokens.sigma && scores) {
      const double around =
          std::sqrt(sub_gaussian_norm(*tokens.sigma, d, p, std::pow(scores->value, 1.0 / p)));
      take_smaller(value, bound_of_power(tokens.mean.norm() + around, p).value);
      known = true;
    }
  }
  if (!known) return std::nullopt;
  return norms;
}

}  // namespace largo::concentration
