// What a concentration question is about: a layer, the law of its tokens, and the queries it is asked.
#pragma once

#include <string_view>
#include <variant>

#include "largo/measures/measure.hpp"

namespace largo {

/// One query, or the law that queries are drawn from.
using Queries = std::variant<Vector, MeasurePtr>;

struct AttentionLayer {
  MeasurePtr tokens;
  Matrix U;  ///< scores <z', U z>
  Matrix V;  ///< values V z'
  Queries queries;
};

/// Throws InputError unless the shapes fit and all numbers are finite.
void check_layer(std::string_view function, const AttentionLayer& layer);

/// Queries in a finite set, with their probabilities: one query, or a prompt as a law of queries. No rows for
/// any other law.
struct FiniteQueries {
  Matrix rows;
  Vector probabilities;
};
FiniteQueries finite_queries(const Queries& queries);

/// E[z zᵀ]
Matrix second_moment(const Queries& queries);

}  // namespace largo
