#include "concentration/mean_rho.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include <fmt/format.h>

#include "concentration/quadratic_moments.hpp"
#include "concentration/tilted_moments.hpp"
#include "numerics/log_sum_exp.hpp"

namespace largo::concentration {
namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();
constexpr double kRoundingOfBound = 1e-13;   // of ln E ρ, relative to one and to itself
constexpr double kRoundingOfGrowth = 1e-12;  // of 2λ, which decides whether an average is finite

// Queries as far as an average of an exponential sees them: normal, or within a ball (root has no rows).
struct QueryPiece {
  double probability = 1;
  Vector mean;
  Matrix root;
  const TokenLeaf* bounded = nullptr;
  bool exact = true;  // a normal piece of constant radius
  bool normal = true;
};

// A law that is only known to be σ-sub-Gaussian has E e^{<z, Bz>} at most that of N(mean, σ² I).
std::optional<std::vector<QueryPiece>> query_pieces(const LawPieces& queries) {
  std::vector<QueryPiece> all;
  for (const LawPiece& piece : queries.pieces) {
    QueryPiece one;
    one.probability = piece.probability;
    if (piece.kind == PieceKind::unknown) {
      if (!queries.sigma) return std::nullopt;
      const Eigen::Index e = queries.mean.size();
      return std::vector<QueryPiece>{
          {1, queries.mean, *queries.sigma * Matrix::Identity(e, e), nullptr, false, false}};
    }
    if (piece.kind == PieceKind::bounded) {
      one.bounded = &*piece.bounded;
      one.exact = one.normal = false;
    } else {
      one.mean = piece.offset;
      one.root = std::sqrt(piece.largest()) * piece.root;
      one.exact = !piece.radius;
    }
    all.push_back(one);
  }
  return all;
}

// ln E e^{factor ‖Az‖²}, or a bound.
double log_mean_square_exponential(const QueryPiece& query, const Matrix& A, double factor) {
  if (query.bounded != nullptr) {
    const double farthest = reach(*query.bounded, A, Vector::Zero(A.cols())).value();
    return factor * farthest * farthest;
  }
  return log_exponential_moment(query.mean, query.root, factor * (A.transpose() * A)).log_value;
}

// A bound on ln E e^{t ‖Az‖}: t x <= t²/(4β) + β x² for every β > 0.
double log_mean_exponential(const QueryPiece& query, const Matrix& A, double t) {
  if (query.bounded != nullptr) return t * reach(*query.bounded, A, Vector::Zero(A.cols())).value();
  const double largest = log_exponential_moment(query.mean, query.root, A.transpose() * A).largest;
  const double size = std::sqrt(largest) + (A * query.mean).norm();  // the scale of ‖Az‖
  if (!(size > 0) || t == 0) return t * size;
  double least = kInfinite;
  for (double share = 1e-4; share < 0.5; share *= 1.25) {
    const double beta = share / (size * size);
    least = std::min(least, t * t / (4 * beta) + log_mean_square_exponential(query, A, beta));
  }
  return least;
}

double mass_of_largest(const RadialLaw& radius) {
  if (radius.cumulative().empty()) return 0;  // uniform on an interval
  const RadialLaw::Nodes nodes = radius.nodes(1);
  double mass = 0;
  for (Eigen::Index k = 0; k < nodes.values.size(); ++k)
    if (nodes.values[k] == radius.largest()) mass += nodes.weights[k];
  return mass;
}

// ln E ρ_j for one piece of the tokens, or a bound.
double log_mean_rho_of(const LawPiece& piece, const Vector& mean, const QueryPiece& query, const Matrix& U) {
  if (piece.kind == PieceKind::bounded) {
    const Eigen::Index d = U.rows();
    const double R = reach(*piece.bounded, Matrix::Identity(d, d), mean).value();
    return log_mean_exponential(query, U, 2 * R);
  }
  const Matrix scores = piece.root.transpose() * U;
  if (!piece.radius) return log_mean_square_exponential(query, scores, 1);
  double least = kInfinite;
  for (double share = 0.5; share > 1e-12; share /= 2) {
    const double w = piece.radius->quantile(1 - share);
    const double bound = log_mean_square_exponential(query, scores, 2 * piece.largest() - w);
    least = std::min(least, bound - 2 * std::log(share * (1 - kRoundingOfGrowth)));
  }
  // The largest radius itself, if it has a probability, however small.
  if (const double mass = mass_of_largest(*piece.radius); mass > 0) {
    const double bound = log_mean_square_exponential(query, scores, piece.largest());
    least = std::min(least, bound - 2 * std::log(mass * (1 - kRoundingOfGrowth)));
  }
  return least;
}

double growth_of(const LawPiece& piece, const QueryPiece& query, const Matrix& U) {
  if (piece.kind != PieceKind::normal || !query.normal) return 0;
  const Matrix scores = piece.root.transpose() * U;
  return piece.largest() *
         log_exponential_moment(query.mean, query.root, scores.transpose() * scores).largest;
}

// ln E ρ over one piece of the queries, or a bound. A law that is only known to be σ-sub-Gaussian has
// ln ρ <= 2σ²‖a‖².
double log_mean_rho_over(const LawPieces& tokens, const QueryPiece& query, const Matrix& U) {
  double best = kInfinite;
  if (tokens.sigma) best = log_mean_square_exponential(query, U, 2 * *tokens.sigma * *tokens.sigma);
  std::vector<double> terms;
  for (const LawPiece& piece : tokens.pieces) {
    if (piece.kind == PieceKind::unknown) return best;
    terms.push_back(log_mean_rho_of(piece, tokens.mean, query, U) - std::log(piece.probability));
  }
  return std::min(best, numerics::log_sum_exp(terms));
}

}  // namespace

std::string MeanRho::comparison(const char* symbol) const {
  const char* const sign = converges ? " < 1" : diverges ? " > 1" : "";
  const double growth = norm * norm;
  if (std::isfinite(2 * growth)) return fmt::format("2|Γ^½ U {}^½|² = {:.6g}{}", symbol, 2 * growth, sign);
  return fmt::format("|Γ^½ U {}^½| = {:.6g}, twice the square of which is{}", symbol, norm, sign);
}

std::string MeanRho::largest_power(const char* symbol) const {
  const double power = 0.5 / (norm * norm);
  if (power > std::numeric_limits<double>::min()) return fmt::format("{:.4g}", power);
  return fmt::format("1/(2|Γ^½ U {}^½|²)", symbol);
}

MeanRho mean_rho(const LawPieces& tokens, const LawPieces& queries, const Matrix& U) {
  MeanRho result;
  const auto known = query_pieces(queries);
  if (!known) return result;
  // A power of two, so that squares of U/unit neither overflow nor vanish.
  const double size = U.cwiseAbs().maxCoeff();
  const double unit = size > 0 ? std::scalbn(1.0, std::ilogb(size)) : 1;
  const Matrix scaled = U / unit;
  result.exact = tokens.pieces.size() == 1 && tokens.all_gaussian();
  bool complete = std::none_of(tokens.pieces.begin(), tokens.pieces.end(),
                               [](const LawPiece& piece) { return piece.kind == PieceKind::unknown; });
  double growth = 0;
  std::vector<double> terms;
  for (const QueryPiece& query : *known) {
    for (const LawPiece& piece : tokens.pieces) growth = std::max(growth, growth_of(piece, query, scaled));
    result.exact = result.exact && query.exact;
    terms.push_back(std::log(query.probability) + log_mean_rho_over(tokens, query, U));
  }
  result.norm = unit * std::sqrt(growth);
  const double beyond = 2 * result.norm * result.norm - 1;
  result.diverges = complete && beyond > kRoundingOfGrowth;
  complete = complete && std::all_of(known->begin(), known->end(), [](const QueryPiece& query) {
               return query.normal || query.bounded != nullptr;
             });
  result.converges = complete && beyond < -kRoundingOfGrowth;
  const double value = numerics::log_sum_exp(terms);
  const double allowance = result.exact ? 0 : kRoundingOfBound * (1 + std::abs(value));
  if (std::isfinite(value) && !(result.exact && !result.converges)) result.log_value = value + allowance;
  return result;
}

}  // namespace largo::concentration
