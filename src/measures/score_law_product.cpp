// The score of independent coordinates, Σ_j a_j X_j: a mixture over the values of the discrete ones, which
// may leave one continuous term.
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "largo/measures/product.hpp"
#include "largo/runtime/check.hpp"
#include "measures/score_law_parts.hpp"

namespace largo {
namespace {

constexpr std::size_t kMostComponents = std::size_t{1} << 16;

bool is_continuous(const std::vector<ScoreComponent>& pieces) {
  for (const ScoreComponent& piece : pieces) {
    if (piece.shape != ScoreShape::atom) return true;
  }
  return false;
}

// What is added to the score and to coordinate j when X_j follows one of its pieces.
ScoreComponent with_coordinate(ScoreComponent so_far, const ScoreComponent& piece, std::ptrdiff_t j,
                               double a) {
  so_far.weight *= piece.weight;
  so_far.centre += a * piece.centre;
  so_far.mean[j] = piece.centre;
  if (piece.shape != ScoreShape::atom) {
    const double sign = std::copysign(1.0, a);  // v points where the score grows
    so_far.shape = piece.shape;
    so_far.scale = std::abs(a) * piece.scale;
    so_far.order = piece.order;
    so_far.rate = sign * piece.rate;
    so_far.slope = sign * piece.scale * Vector::Unit(so_far.mean.size(), j);
  }
  return so_far;
}

}  // namespace

ScoreLaw ProductMeasure::score_law(const ConstVectorRef& direction) const {
  check_direction(direction);
  ScoreComponent start;
  start.mean = Vector::Zero(dimension());
  Matrix ignored =
      Matrix::Zero(dimension(), dimension());  // the covariance of the coordinates the score ignores
  for (std::ptrdiff_t j = 0; j < dimension(); ++j) {
    if (direction[j] != 0) continue;
    const Cumulants cumulants = coordinates_[static_cast<std::size_t>(j)]->cumulants(0);
    start.mean[j] = cumulants.derivative;
    ignored(j, j) = cumulants.curvature;
    start.covariance = 0;
    start.constant_part = 1;
  }
  ScoreLaw law;
  law.components.push_back(std::move(start));
  if (law.components.front().covariance == 0) law.covariances.push_back(std::move(ignored));

  bool continuous = false;
  for (std::ptrdiff_t j = 0; j < dimension(); ++j) {
    if (direction[j] == 0) continue;
    const std::vector<ScoreComponent> pieces = coordinates_[static_cast<std::size_t>(j)]->pieces();
    if (is_continuous(pieces) && std::exchange(continuous, true)) {
      fail("score_law",
           "the direction meets two continuous coordinates of a product law, whose score is a convolution: "
           "sample prompts instead");
    }
    if (law.components.size() * pieces.size() > kMostComponents) {
      fail("score_law", fmt::format("the score of this product law takes more than {} values: sample prompts "
                                    "instead",
                                    kMostComponents));
    }
    std::vector<ScoreComponent> next;
    next.reserve(law.components.size() * pieces.size());
    for (const ScoreComponent& component : law.components) {
      for (const ScoreComponent& piece : pieces) {
        next.push_back(with_coordinate(component, piece, j, direction[j]));
      }
    }
    law.components = std::move(next);
  }
  return largo::finite(std::move(law));
}

}  // namespace largo
