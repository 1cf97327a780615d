#include "largo/concentration/attention_layer.hpp"

#include <fmt/format.h>

#include "largo/measures/empirical.hpp"
#include "largo/measures/gaussian.hpp"
#include "largo/runtime/check.hpp"

namespace largo {
namespace {

std::ptrdiff_t dimension(const Queries& queries) {
  if (const auto* query = std::get_if<Vector>(&queries)) return query->size();
  return std::get<MeasurePtr>(queries)->dimension();
}

template <typename Law>
const Law* query_law(const Queries& queries) {
  const auto* law = std::get_if<MeasurePtr>(&queries);
  return law != nullptr ? dynamic_cast<const Law*>(law->get()) : nullptr;
}

}  // namespace

void check_layer(std::string_view function, const AttentionLayer& layer) {
  if (layer.tokens == nullptr) fail(function, "a law of tokens is needed");
  const auto* law = std::get_if<MeasurePtr>(&layer.queries);
  if (law != nullptr && *law == nullptr) fail(function, "a query, or a law of queries, is needed");
  const std::ptrdiff_t d = layer.tokens->dimension();
  check_shape(function, "U", layer.U.rows(), layer.U.cols(), d, layer.U.cols());
  if (dimension(layer.queries) != layer.U.cols()) {
    fail(function, "size of a query", static_cast<double>(dimension(layer.queries)),
         fmt::format("{}, the number of columns of U", layer.U.cols()));
  }
  check_size(function, "columns of V", layer.V.cols(), d);
  check_finite(function, "U", layer.U);
  check_finite(function, "V", layer.V);
  if (const auto* query = std::get_if<Vector>(&layer.queries)) check_finite(function, "query", *query);
  for (const PlantedToken& token : layer.planted) check_planted_token(function, token, d);
}

void check_law_alone(std::string_view function, const AttentionLayer& layer) {
  check_layer(function, layer);
  if (!layer.planted.empty()) fail(function, "it is not defined beside planted tokens: leave them out");
}

bool has_gaussian_tokens(const AttentionLayer& layer) {
  return dynamic_cast<const GaussianMeasure*>(layer.tokens.get()) != nullptr;
}

FiniteQueries finite_queries(const Queries& queries) {
  if (const auto* query = std::get_if<Vector>(&queries)) return {query->transpose(), Vector::Ones(1)};
  const auto* prompt = query_law<EmpiricalMeasure>(queries);
  if (prompt == nullptr) return {Matrix(0, dimension(queries)), Vector(0)};
  const ArrayView& tokens = prompt->tokens();
  FiniteQueries finite{Matrix(tokens.rows, tokens.columns), prompt->probabilities()};
  for (std::int64_t i = 0; i < tokens.rows; ++i) {
    for (std::int64_t j = 0; j < tokens.columns; ++j) finite.rows(i, j) = tokens(i, j);
  }
  if (finite.probabilities.size() == 0) {
    finite.probabilities = Vector::Constant(tokens.rows, 1 / static_cast<double>(tokens.rows));
  }
  return finite;
}

Matrix second_moment(const Queries& queries) {
  if (const auto* query = std::get_if<Vector>(&queries)) return *query * query->transpose();
  const Measure& law = *std::get<MeasurePtr>(queries);
  const Vector mean = law.mean();
  return law.covariance() + mean * mean.transpose();
}

}  // namespace largo
