#include "largo/concentration/asymptotic_exponent.hpp"

#include <algorithm>
#include <cmath>

#include "largo/exact/softmax_moments.hpp"
#include "largo/measures/empirical.hpp"
#include "largo/measures/gaussian.hpp"
#include "largo/measures/token_leaf.hpp"
#include "largo/runtime/check.hpp"
#include "numerics/factor.hpp"

namespace largo {
namespace {

constexpr const char* kAsymptoticExponent = "asymptotic_exponent";

bool bounded(const CoordinateLaw& law) {
  try {
    const std::vector<ScoreComponent> pieces = law.pieces();
    return std::none_of(pieces.begin(), pieces.end(),
                        [](const ScoreComponent& piece) { return piece.shape == ScoreShape::gaussian; });
  } catch (const InputError&) {
    return false;  // the law does not say
  }
}

bool bounded(const TokenLeaf& leaf) {
  if (std::holds_alternative<SphereTokens>(leaf.base)) return true;
  if (const auto* sampled = std::get_if<SampledTokens>(&leaf.base)) {
    return dynamic_cast<const EmpiricalMeasure*>(sampled->law) != nullptr;
  }
  const auto* product = std::get_if<ProductTokens>(&leaf.base);
  return product != nullptr && std::all_of(product->coordinates.begin(), product->coordinates.end(),
                                           [](const CoordinateLawPtr& law) { return bounded(*law); });
}

// The largest spread of the scores of Gaussian tokens R x over the directions of the queries.
double spread(const TokenLeaf& leaf, const Matrix& scores) {
  const double radius = leaf.squared_radius ? std::sqrt(leaf.squared_radius->largest()) : 1;
  const Matrix N = leaf.map.rows() > 0 ? Matrix(scores * leaf.map) : scores;
  return radius * leaf.scale * numerics::operator_norm(N);
}

}  // namespace

std::optional<AsymptoticExponent> asymptotic_exponent(const AttentionLayer& layer, double sigma) {
  check_layer(kAsymptoticExponent, layer);
  check_positive(kAsymptoticExponent, "sigma", sigma);
  // Where the crowd does not vary, the error is the square of the bias that planted tokens add.
  const auto varies = [&] {
    return (layer.V * layer.tokens->covariance() * layer.V.transpose()).trace() > 0;
  };
  if (!layer.planted.empty() && !varies()) return std::nullopt;
  AsymptoticExponent smallest;
  const auto* queries = std::get_if<MeasurePtr>(&layer.queries);
  if (queries == nullptr) return smallest;
  const auto* tokens = dynamic_cast<const GaussianMeasure*>(layer.tokens.get());
  for (const TokenLeaf& leaf : (*queries)->token_leaves()) {
    if (leaf.probability == 0 || bounded(leaf)) continue;
    if (tokens == nullptr || !layer.planted.empty() || !std::holds_alternative<NormalTokens>(leaf.base))
      return std::nullopt;
    const Matrix R =
        numerics::covariance_root(kAsymptoticExponent, "token covariance", tokens->covariance()).root;
    const double spread_of_scores = sigma * spread(leaf, R.transpose() * layer.U);
    if (smallest.spread && spread_of_scores <= *smallest.spread) continue;
    smallest = {spread_of_scores > 0 ? averaged_exponent(spread_of_scores) : 1, spread_of_scores};
  }
  return smallest;
}

}  // namespace largo
