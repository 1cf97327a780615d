// Layers that several claims are checked on: laws of tokens and queries, random matrices, dimensions.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "largo/concentration/attention_layer.hpp"

namespace largo::claims {

/// By their names (largo/measures/named_law.hpp). All but the first and the last are bounded.
inline constexpr std::array kTokenLaws = {"gaussian:cov=toeplitz:0.5",
                                          "sphere:radius=1.5",
                                          "ball:radius=2",
                                          "rademacher",
                                          "three-point:scale=2,mass=0.05",
                                          "bernoulli:probability=0.2",
                                          "elliptical:values=0.25,1.5,weights=1,1"};

enum class QueryKind : std::uint8_t {
  one,       ///< a query of random direction and length √d
  gaussian,  ///< standard
  sphere,    ///< of radius √d, so that E|z|² = d for all laws of queries
  signs      ///< independent coordinates ±1
};
inline constexpr std::array kQueryKinds = {QueryKind::one, QueryKind::gaussian, QueryKind::sphere,
                                           QueryKind::signs};
const char* name_of(QueryKind kind);

/// The matrix with another operator norm.
Matrix with_norm(const Matrix& A, double norm);

Queries queries_of(QueryKind kind, std::ptrdiff_t d, int draw);

/// The 2^d vectors with coordinates ±1, one per row, and the law that is uniform on them. As a law of queries
/// it is finite, so that errors are known exactly where they are at a query.
RowMatrix sign_vectors(std::ptrdiff_t d);
MeasurePtr all_signs(std::ptrdiff_t d);
/// The same as queries to tokens of this law. If z' and −z' have the same law, z and −z have the same errors,
/// and those with a positive first coordinate are enough.
MeasurePtr sign_queries(std::string_view law, std::ptrdiff_t d);
inline constexpr std::ptrdiff_t kMostSigns = 4;  ///< the largest d for which this is cheap

/// Tokens of the law in d dimensions, random U of this operator norm, random V with two rows, and queries.
/// Different draws have different matrices.
AttentionLayer random_layer(const char* law, std::ptrdiff_t d, QueryKind queries, int draw, double U_norm);

}  // namespace largo::claims
