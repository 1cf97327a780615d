// The common parts of the samplers. A token's bits may depend on (stream, token number) alone, never on the
// block it is drawn in, so sums over coordinates run in a fixed order: no matrix products here.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "largo/random/streams.hpp"
#include "largo/runtime/matrix.hpp"

namespace largo::measures {

inline constexpr std::ptrdiff_t kSampleBlock = 1024;  // tokens; bounds the scratch memory

/// Calls body(row, draws) for each row, block by block. `draws` holds the `per_token` draws of the row, which
/// `draw(first_index, span)` takes from the stream at index token number * per_token.
template <typename Draw, typename Body>
void for_each_block(std::uint64_t first_token, std::ptrdiff_t rows, std::ptrdiff_t per_token,
                    const Draw& draw, const Body& body) {
  std::vector<double> scratch(static_cast<std::size_t>(std::min(rows, kSampleBlock) * per_token));
  for (std::ptrdiff_t begin = 0; begin < rows; begin += kSampleBlock) {
    const std::ptrdiff_t count = std::min(kSampleBlock, rows - begin);
    const std::span<double> draws(scratch.data(), static_cast<std::size_t>(count * per_token));
    draw((first_token + static_cast<std::uint64_t>(begin)) * static_cast<std::uint64_t>(per_token), draws);
    for (std::ptrdiff_t i = 0; i < count; ++i) {
      body(begin + i,
           draws.subspan(static_cast<std::size_t>(i * per_token), static_cast<std::size_t>(per_token)));
    }
  }
}

/// row = offset + Σ_k x_k map.row(k), summed in order of k.
template <typename Row>
void linear_image(std::span<const double> x, const RowMatrix& map, const Vector& offset, Row&& row) {
  row = offset.transpose();
  for (std::ptrdiff_t k = 0; k < map.rows(); ++k) row += x[static_cast<std::size_t>(k)] * map.row(k);
}

/// Tokens offset + mapᵀ g with g standard normal, map.rows() normals per token.
void sample_linear_image(const Stream& stream, std::uint64_t first_token, const Vector& offset,
                         const RowMatrix& map, Eigen::Ref<RowMatrix> tokens);

/// Rows uniform on the sphere of the given radius: normalised Gaussian vectors.
void sample_sphere(const Stream& stream, std::uint64_t first_token, double radius,
                   Eigen::Ref<RowMatrix> tokens);

/// One uniform per token, from a stream of its own, for a radius or a mixture component.
std::vector<double> side_uniforms(const Stream& stream, std::uint64_t first_token, std::ptrdiff_t count);

/// Index of the first entry of an ascending cumulative sum that exceeds the draw.
std::ptrdiff_t pick(const std::vector<double>& cumulative, double uniform);
std::vector<double> cumulative_sum(const Vector& probabilities);

}  // namespace largo::measures
