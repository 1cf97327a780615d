#include "largo/exact/simulated_errors.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "largo/numerics/check.hpp"
#include "largo/sampling/streams.hpp"
#include "numerics/parallel.hpp"

namespace largo {
namespace {

constexpr std::ptrdiff_t kBlocks = 64;  // of prompts, summed in order

Matrix normals(const Stream& stream, std::uint64_t first, std::ptrdiff_t rows, std::ptrdiff_t columns) {
  Matrix values(rows, columns);
  stream.normals(first, {values.data(), static_cast<std::size_t>(values.size())});
  return values;
}

// Sums of x and x² of the three squared errors.
struct Sums {
  std::array<double, 3> value{};
  std::array<double, 3> square{};

  void add(std::size_t i, double x) {
    value[i] += x;
    square[i] += x * x;
  }
  void add(const Sums& other) {
    for (std::size_t i = 0; i < 3; ++i) {
      value[i] += other.value[i];
      square[i] += other.square[i];
    }
  }
  Estimate mean(std::size_t i, double count) const {
    const double mean = value[i] / count;
    return {mean, std::sqrt(std::max(0.0, square[i] / count - mean * mean) / count)};
  }
};

SimulatedErrors simulate(const ErrorSimulation& settings, std::int64_t L, std::uint64_t id,
                         const Execution& execution) {
  const std::ptrdiff_t d = settings.dimension;
  const Stream drawing(settings.seed, 2 * id);
  const Stream tokens(settings.seed, 2 * id + 1);
  const auto entries = static_cast<std::uint64_t>(d * d);
  const Matrix R = 0.6 * normals(drawing, 0, d, d);
  const Matrix covariance = R * R.transpose();
  const Matrix U = normals(drawing, entries, d, d);
  const Matrix V = normals(drawing, 2 * entries, d, d);
  const Vector query = normals(drawing, 3 * entries, d, 1);
  const Vector a = U * query;
  const Vector limit = covariance * a;

  SimulatedErrors result;
  result.length = L;
  result.exact = gaussian_attention_error(covariance, U, V, query, static_cast<double>(L));

  std::vector<Sums> blocks(kBlocks);
  parallel_for(kBlocks, execution, [&](std::ptrdiff_t block) {
    Sums& sums = blocks[static_cast<std::size_t>(block)];
    for (std::int64_t prompt = block; prompt < settings.prompts; prompt += kBlocks) {
      const Matrix z = R * normals(tokens, static_cast<std::uint64_t>(prompt * L * d), d, L);
      Vector weights = z.transpose() * a;
      weights = (weights.array() - weights.maxCoeff()).exp();
      weights /= weights.sum();
      const Vector mean = z * weights;
      const Matrix C = z * weights.asDiagonal() * z.transpose() - mean * mean.transpose();
      sums.add(0, (V * (mean - limit)).squaredNorm());
      sums.add(1, static_cast<double>(d) * (mean - limit).squaredNorm());
      sums.add(2, query.squaredNorm() * (V * (C - covariance)).squaredNorm());
    }
  });
  Sums total;
  for (const Sums& block : blocks) total.add(block);
  const auto count = static_cast<double>(settings.prompts);
  result.output = total.mean(0, count);
  result.gradient_V = total.mean(1, count);
  result.gradient_U = total.mean(2, count);
  return result;
}

// With room for rounding: at L = 1 the gradient in U is the same for every prompt.
double z_score(const Estimate& simulated, const Estimate& exact) {
  const double rounding = 1e-12 * std::abs(exact.value);
  return std::abs(simulated.value - exact.value) / (simulated.error + rounding);
}

}  // namespace

double SimulatedErrors::worst_z_score() const {
  return std::max({z_score(output, exact.output), z_score(gradient_V, exact.gradient_V),
                   z_score(gradient_U, exact.gradient_U)});
}

std::vector<SimulatedErrors> simulate_gaussian_errors(const ErrorSimulation& settings,
                                                      const Execution& execution) {
  constexpr const char* kName = "simulate_gaussian_errors";
  if (settings.prompts < 2) fail(kName, "prompts", static_cast<double>(settings.prompts), "at least 2");
  if (settings.dimension < 1) fail(kName, "dimension", settings.dimension, "at least 1");
  std::vector<SimulatedErrors> results;
  for (const std::int64_t L : settings.lengths) {
    if (L < 1) fail(kName, "length", static_cast<double>(L), "at least 1");
    results.push_back(simulate(settings, L, results.size(), execution));
  }
  return results;
}

}  // namespace largo
