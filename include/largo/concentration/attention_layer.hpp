// What every question about concentration refers to: a layer, the law of its tokens, and its queries.
#pragma once

#include <string_view>
#include <variant>
#include <vector>

#include "largo/measures/measure.hpp"
#include "largo/measures/planted_token.hpp"

namespace largo {

/// One query, or the law that queries are drawn from.
using Queries = std::variant<Vector, MeasurePtr>;

struct AttentionLayer {
  MeasurePtr tokens;
  Matrix U;  ///< scores <z', U z>
  Matrix V;  ///< values V z'
  Queries queries;
  /// Tokens that every prompt holds beside the L drawn from the law. They are scaled like these (`sigma` in
  /// concentration_grid.hpp); given scores are not. The limit is that of the law all the same:
  /// a given number of tokens has no weight in an infinite prompt.
  std::vector<PlantedToken> planted = {};
};

/// Throws InputError unless the shapes fit and all numbers are finite.
void check_layer(std::string_view function, const AttentionLayer& layer);
/// The same for functions that are not defined for planted tokens.
void check_law_alone(std::string_view function, const AttentionLayer& layer);

/// Whether the law of the tokens is a GaussianMeasure, for which most formulas are closed.
bool has_gaussian_tokens(const AttentionLayer& layer);

/// The queries as a finite set with their probabilities: one query, or a prompt used as a law of queries. For
/// any other law there are no rows.
struct FiniteQueries {
  Matrix rows;
  Vector probabilities;
};
FiniteQueries finite_queries(const Queries& queries);

/// E[z zᵀ] over the queries z.
Matrix second_moment(const Queries& queries);

}  // namespace largo
