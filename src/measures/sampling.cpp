#include "measures/sampling.hpp"

#include <cmath>

namespace largo::measures {
namespace {

// The tokens use the stream itself; other draws must not overlap with theirs.
constexpr std::uint64_t kSideStream = 1;

}  // namespace

void sample_linear_image(const Stream& stream, std::uint64_t first_token, const Vector& offset,
                         const RowMatrix& map, Eigen::Ref<RowMatrix> tokens) {
  for_each_block(
      first_token, tokens.rows(), map.rows(),
      [&](std::uint64_t first, std::span<double> draws) { stream.normals(first, draws); },
      [&](std::ptrdiff_t row, std::span<const double> g) { linear_image(g, map, offset, tokens.row(row)); });
}

void sample_sphere(const Stream& stream, std::uint64_t first_token, double radius,
                   Eigen::Ref<RowMatrix> tokens) {
  for_each_block(
      first_token, tokens.rows(), tokens.cols(),
      [&](std::uint64_t first, std::span<double> draws) { stream.normals(first, draws); },
      [&](std::ptrdiff_t row, std::span<const double> g) {
        double square = 0;
        for (const double x : g) square += x * x;
        const double scale = radius / std::sqrt(square);
        for (std::size_t j = 0; j < g.size(); ++j) tokens(row, static_cast<std::ptrdiff_t>(j)) = scale * g[j];
      });
}

std::vector<double> side_uniforms(const Stream& stream, std::uint64_t first_token, std::ptrdiff_t count) {
  std::vector<double> uniforms(static_cast<std::size_t>(count));
  stream.substream(kSideStream).uniforms(first_token, uniforms);
  return uniforms;
}

std::vector<double> cumulative_sum(const Vector& probabilities) {
  std::vector<double> cumulative(static_cast<std::size_t>(probabilities.size()));
  double sum = 0;
  for (std::ptrdiff_t k = 0; k < probabilities.size(); ++k) {
    sum += probabilities[k];
    cumulative[static_cast<std::size_t>(k)] = sum;
  }
  return cumulative;
}

std::ptrdiff_t pick(const std::vector<double>& cumulative, double uniform) {
  const double target = uniform * cumulative.back();
  const auto at = std::upper_bound(cumulative.begin(), cumulative.end(), target);
  // Rounding can put the target at the very end; the last entry with positive probability is the answer.
  if (at == cumulative.end()) {
    return std::lower_bound(cumulative.begin(), cumulative.end(), cumulative.back()) - cumulative.begin();
  }
  return at - cumulative.begin();
}

}  // namespace largo::measures
