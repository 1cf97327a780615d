// The average over the queries of a layer, for errors and for bounds.
#pragma once

#include <optional>

#include "largo/concentration/attention_layer.hpp"
#include "largo/exact/query_average.hpp"

namespace largo::concentration {

/// The law of the queries; null if there is one query.
const Measure* law_of(const Queries& queries);

/// The average for Gaussian tokens of this covariance: over Gaussian queries, a sphere, or given queries.
/// None for other laws.
std::optional<QueryAverage> average_over(const Matrix& covariance, const AttentionLayer& layer);

}  // namespace largo::concentration
