// The two products in which the audit spends its time: scores of queries against a tile of keys, and weighted
// sums of a tile of values. In doubles; the order of every sum is fixed, and the same at every SIMD level, so
// that a number depends neither on the queries beside it nor on the machine.
#pragma once

#include <cstdint>

namespace largo::heads {

/// Keys, or values, that are in cache together. Rows and coordinates are padded with zeros to a multiple of
/// kPadding, so that vectors have no remainder.
inline constexpr std::int64_t kTile = 256;
inline constexpr std::int64_t kPadding = 8;

constexpr std::int64_t padded(std::int64_t count) { return (count + kPadding - 1) / kPadding * kPadding; }

/// Whether products of a query and a key are exact in double precision. Then they may be fused with the sum.
enum class Products : std::uint8_t { exact, rounded };

/// scores[i * stride + j] = scale Σ_c queries[i * columns + c] panel[c * kTile + j], for i in [0, count) and
/// all j in [0, kTile). The sum runs over c in increasing order. Aligned to 64 bytes.
/// Cost: count * columns * kTile products, 4 to 16 in a nanosecond.
void score_tile(Products products, const double* queries, std::int64_t count, std::int64_t columns,
                const double* panel, double scale, double* scores, std::int64_t stride);

/// one[c] += Σ_j first[j] rows[j * width + c] and, unless it is null, two[c] += Σ_j second[j] rows[...], for
/// c in [0, width) and j in [0, count) in increasing order. `width` is padded; aligned to 64 bytes.
void add_rows(const double* rows, std::int64_t count, std::int64_t width, const double* first,
              const double* second, double* one, double* two);

/// Sums of powers of x_j = scores[j] - reference over j in [0, count), each in eight interleaved parts.
struct PowerSums {
  double one = 0, two = 0, three = 0, four = 0;
};
PowerSums power_sums(const double* scores, std::int64_t count, double reference);

/// weights[j] = exp(scores[j] - reference).
void weigh(const double* scores, std::int64_t count, double reference, double* weights);

/// Σ w, Σ w² and Σ w (reference - score), in eight interleaved parts.
struct WeightSums {
  double one = 0, squares = 0, gaps = 0;
};
WeightSums weight_sums(const double* scores, const double* weights, std::int64_t count, double reference);

}  // namespace largo::heads
