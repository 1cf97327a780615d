#include "largo/measures/product.hpp"

#include <algorithm>
#include <utility>

#include "largo/measures/token_leaf.hpp"
#include "largo/runtime/check.hpp"
#include "measures/sampling.hpp"

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
  check_pairs(directions, vectors);
  Matrix products(vectors.rows(), vectors.cols());
  for (std::ptrdiff_t q = 0; q < vectors.cols(); ++q) {
    for (std::ptrdiff_t j = 0; j < dimension(); ++j) {
      const double variance =
          coordinates_[static_cast<std::size_t>(j)]->cumulants(directions(j, q)).curvature;
      products(j, q) = variance * vectors(j, q);
    }
  }
  return products;
}

double ProductMeasure::sub_gaussian_constant() const {
  double largest = 0;
  for (const CoordinateLawPtr& law : coordinates_) largest = std::max(largest, law->sub_gaussian_constant());
  return largest;
}

void ProductMeasure::sample(const Stream& stream, std::uint64_t first_token,
                            Eigen::Ref<RowMatrix> tokens) const {
  check_size("sample", "each token", tokens.cols(), dimension());
  for_each_block(
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

}  // namespace largo
