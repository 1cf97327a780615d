#include "largo/measures/product.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "largo/measures/token_leaf.hpp"
#include "largo/runtime/check.hpp"
#include "measures/sampling.hpp"
#include "measures/score_law_parts.hpp"

namespace largo {

ProductMeasure::ProductMeasure(std::vector<CoordinateLawPtr> coordinates)
    : Measure(std::ssize(coordinates)), coordinates_(std::move(coordinates)) {
  for (const CoordinateLawPtr& law : coordinates_) {
    if (!law) fail("ProductMeasure", "a coordinate law is null");
  }
}

ProductMeasure::ProductMeasure(std::ptrdiff_t dimension, const CoordinateLawPtr& coordinate)
    : ProductMeasure(std::vector<CoordinateLawPtr>(
          static_cast<std::size_t>(std::max<std::ptrdiff_t>(dimension, 0)), coordinate)) {}

double ProductMeasure::log_partition(const ConstVectorRef& direction) const {
  return tilt(direction, TiltOrder::log_partition).log_partition;
}

Tilt ProductMeasure::tilt(const ConstVectorRef& direction, TiltOrder order) const {
  check_direction(direction);
  Tilt result;
  if (order >= TiltOrder::mean) result.mean.resize(dimension());
  if (order >= TiltOrder::covariance) result.covariance = Matrix::Zero(dimension(), dimension());
  for (std::ptrdiff_t j = 0; j < dimension(); ++j) {
    const Cumulants cumulants = coordinates_[static_cast<std::size_t>(j)]->cumulants(direction[j]);
    result.log_partition += cumulants.value;
    if (order >= TiltOrder::mean) result.mean[j] = cumulants.derivative;
    if (order >= TiltOrder::covariance) result.covariance(j, j) = cumulants.curvature;
  }
  return finite(std::move(result));
}

Matrix ProductMeasure::tilted_covariance_products(const ConstMatrixRef& directions,
                                                  const ConstMatrixRef& vectors,
                                                  const Execution& /*execution*/) const {
  return product_of_each_pair(directions, vectors, [&](const auto& direction, Vector product) {
    for (std::ptrdiff_t j = 0; j < dimension(); ++j) {
      product[j] *= coordinates_[static_cast<std::size_t>(j)]->cumulants(direction[j]).curvature;
    }
    return product;
  });
}

double ProductMeasure::sub_gaussian_constant() const {
  double largest = 0;
  for (const CoordinateLawPtr& law : coordinates_) largest = std::max(largest, law->sub_gaussian_constant());
  return largest;
}

void ProductMeasure::sample(const Stream& stream, std::uint64_t first_token,
                            Eigen::Ref<RowMatrix> tokens) const {
  check_size("sample", "each token", tokens.cols(), dimension());
  measures::for_each_block(
      first_token, tokens.rows(), dimension(),
      [&](std::uint64_t first, std::span<double> draws) { stream.uniforms(first, draws); },
      [&](std::ptrdiff_t row, std::span<const double> u) {
        for (std::size_t j = 0; j < u.size(); ++j) {
          tokens(row, static_cast<std::ptrdiff_t>(j)) = coordinates_[j]->quantile(u[j]);
        }
      });
}

std::vector<TokenLeaf> ProductMeasure::token_leaves() const {
  TokenLeaf leaf;
  leaf.base = ProductTokens{coordinates_};
  return {leaf};
}

// The score Σ_j a_j X_j of independent coordinates is a mixture over the values of the discrete ones; at most
// one term may be continuous. Coordinates that the score ignores count through their mean and covariance. If
// they are discrete and few, their values are listed as well, so that all moments given the score are known.

namespace {

constexpr std::size_t kMostListedValues = 1024;

bool is_continuous(const std::vector<ScoreComponent>& pieces) {
  for (const ScoreComponent& piece : pieces) {
    if (piece.shape != ScoreShape::atom) return true;
  }
  return false;
}

// The number of values, or zero for a law that is not discrete.
std::size_t count_values(const CoordinateLaw& law) {
  try {
    const std::vector<ScoreComponent> pieces = law.pieces();
    return is_continuous(pieces) ? 0 : pieces.size();
  } catch (const InputError&) {
    return 0;  // a law of a user's own need not have pieces
  }
}

// Whether all combinations of values of the discrete coordinates may be listed.
bool few_values(const std::vector<CoordinateLawPtr>& coordinates, const ConstVectorRef& direction) {
  std::size_t combinations = 1;
  for (std::size_t j = 0; j < coordinates.size(); ++j) {
    const std::size_t values = count_values(*coordinates[j]);
    const bool scored = direction[static_cast<std::ptrdiff_t>(j)] != 0;
    combinations *= std::max<std::size_t>(1, scored ? coordinates[j]->pieces().size() : values);
    if (combinations > kMostListedValues) return false;
  }
  return true;
}

// Adds to the score and to coordinate j what X_j contributes when it follows one of its pieces.
ScoreComponent with_coordinate(ScoreComponent so_far, const ScoreComponent& piece, std::ptrdiff_t j,
                               double a) {
  so_far.weight *= piece.weight;
  so_far.centre += a * piece.centre;
  so_far.mean[j] = piece.centre;
  if (piece.shape != ScoreShape::atom) {
    const double sign = std::copysign(1.0, a);  // so that v grows with the score
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
  const bool lists_ignored = few_values(coordinates_, direction);
  // The covariance of the coordinates that the score ignores.
  Matrix ignored = Matrix::Zero(dimension(), dimension());
  const auto is_listed = [&](std::ptrdiff_t j) {
    return direction[j] != 0 ||
           (lists_ignored && count_values(*coordinates_[static_cast<std::size_t>(j)]) > 0);
  };
  for (std::ptrdiff_t j = 0; j < dimension(); ++j) {
    if (is_listed(j)) continue;
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
    if (!is_listed(j)) continue;
    const std::vector<ScoreComponent> pieces = coordinates_[static_cast<std::size_t>(j)]->pieces();
    if (is_continuous(pieces) && std::exchange(continuous, true)) {
      fail("score_law",
           "the direction meets two continuous coordinates of a product law, whose score is a convolution: "
           "sample prompts instead");
    }
    if (law.components.size() * pieces.size() > measures::kMostScoreComponents) {
      fail("score_law", fmt::format("the score of this product law takes more than {} values: sample prompts "
                                    "instead",
                                    measures::kMostScoreComponents));
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
  return measures::finite_law(std::move(law));
}

}  // namespace largo
