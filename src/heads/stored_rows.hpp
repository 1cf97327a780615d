// Rows of stored vectors as doubles. Every format is widened exactly.
#pragma once

#include <cstdint>
#include <optional>

#include "largo/heads/captured_head.hpp"

namespace largo::heads {

/// Row `first + j` into to[j * stride + ...], for j in [0, count). Domain: finite numbers, rows in range.
/// Cost: about a nanosecond for each number.
void widen_rows(const StoredRows& rows, std::int64_t first, std::int64_t count, double* to,
                std::int64_t stride);

/// The first number that is NaN or infinite, as an index into the rows one after the other.
std::optional<std::int64_t> find_not_finite(const StoredRows& rows);

/// Whether products of two stored numbers are exact in double precision.
inline bool has_exact_products(const StoredRows& a, const StoredRows& b) {
  return a.storage != Storage::float64 && b.storage != Storage::float64;
}

}  // namespace largo::heads
