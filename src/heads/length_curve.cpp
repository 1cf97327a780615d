#include "heads/length_curve.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "numerics/simd_math.hpp"

namespace largo::heads {
namespace {

constexpr double kBinsPerUnit = 16;
constexpr double kLargestGap = 80;
constexpr double kStep = 0.5;   // in ln t; halving it changes errors by less than 1e-6
constexpr double kBefore = 10;  // the integrand falls like t² to the left of its peak
constexpr double kBeyond = 40;  // and like e^{-t w}, w the least weight, to the right
constexpr int kSlacks = 64;     // values of δ that are tried

}  // namespace

ScoreBins::ScoreBins(std::ptrdiff_t columns)
    : columns_(columns), slot_(static_cast<std::size_t>(kBinsPerUnit * kLargestGap) + 1, -1) {}

void ScoreBins::add(double gap, double weight, std::span<const double> value, double square) {
  constexpr double kLast = kBinsPerUnit * kLargestGap;
  const auto interval = static_cast<std::size_t>(std::min(gap * kBinsPerUnit, kLast));
  std::int32_t& slot = slot_[interval];
  if (slot < 0) {
    slot = static_cast<std::int32_t>(bins_.size());
    bins_.push_back({.most = std::exp(-static_cast<double>(interval) / kBinsPerUnit)});
    values_.resize(values_.size() + static_cast<std::size_t>(columns_), 0.0);
  }
  Bin& bin = bins_[static_cast<std::size_t>(slot)];
  bin.count += 1;
  bin.weight += gap * kBinsPerUnit < kLast ? weight : std::exp(-kLargestGap);
  bin.square += square;
  double* const __restrict sum = values_.data() + slot * columns_;
  const double* const __restrict from = value.data();
  for (std::ptrdiff_t c = 0; c < columns_; ++c) sum[c] += from[c];
}

std::array<double, kLengths> sampled_errors(const ScoreBins& given) {
  const std::vector<ScoreBins::Bin>& bins = given.bins();
  const std::ptrdiff_t count = std::ssize(bins);
  Eigen::ArrayXd weight(count), share(count), square(count);
  double tokens = 0, total = 0;
  for (const ScoreBins::Bin& bin : bins) {
    tokens += bin.count;
    total += bin.weight;
  }
  for (std::ptrdiff_t b = 0; b < count; ++b) {
    const ScoreBins::Bin& bin = bins[static_cast<std::size_t>(b)];
    weight[b] = bin.weight / bin.count;
    share[b] = bin.count / tokens;
  }
  // Around the output of these weights, so that Σ w x is zero.
  const Vector output = given.values() * weight.matrix() / total;
  Matrix x = given.values();
  for (std::ptrdiff_t b = 0; b < count; ++b) {
    const ScoreBins::Bin& bin = bins[static_cast<std::size_t>(b)];
    square[b] = std::max(0.0, bin.square - 2 * output.dot(x.col(b)) + bin.count * output.squaredNorm());
    x.col(b) -= bin.count * output;
  }
  const double mean = total / tokens;
  const double first = -std::log(mean * length_at(kLengths - 1)) - kBefore;
  const double last = std::log(kBeyond / weight.minCoeff());
  const auto nodes = static_cast<std::ptrdiff_t>(std::ceil((last - first) / kStep)) + 1;
  Matrix factors(count, nodes);
  Vector log_phi(nodes), squares(nodes);
  Eigen::ArrayXd decay(count);
  for (std::ptrdiff_t k = 0; k < nodes; ++k) {
    const double t = std::exp(first + kStep * static_cast<double>(k));
    decay = -t * weight;
    numerics::exp({decay.data(), static_cast<std::size_t>(count)},
                  {decay.data(), static_cast<std::size_t>(count)});
    log_phi[k] = std::log((share * decay).sum());
    factors.col(k) = (weight * decay).matrix();
    squares[k] = (weight * weight * decay * square).sum() / tokens;
  }
  const Vector ones = (x * factors).colwise().squaredNorm().transpose() / (tokens * tokens);
  std::array<double, kLengths> errors = {};
  for (std::size_t i = 0; i < kLengths; ++i) {
    const double L = length_at(i);
    double sum = 0;
    for (std::ptrdiff_t k = 0; k < nodes; ++k) {
      const double log_t = first + kStep * static_cast<double>(k);
      if (!(log_phi[k] > -std::numeric_limits<double>::infinity())) break;
      sum += L * squares[k] * std::exp(2 * log_t + (L - 1) * log_phi[k]);
      if (L > 1) sum += L * (L - 1) * ones[k] * std::exp(2 * log_t + (L - 2) * log_phi[k]);
    }
    errors[i] = kStep * sum;
  }
  return errors;
}

std::array<double, kLengths> certified_errors(const ScoreBins& given, const ConstVectorRef& output, double P2,
                                              double radius) {
  double tokens = 0, total = 0, sum = 0;
  const auto values = given.values();
  for (std::ptrdiff_t b = 0; b < values.cols(); ++b) {
    const ScoreBins::Bin& bin = given.bins()[static_cast<std::size_t>(b)];
    const double square =
        std::max(0.0, bin.square - 2 * output.dot(values.col(b)) + bin.count * output.squaredNorm());
    tokens += bin.count;
    total += bin.weight;
    sum += bin.most * bin.most * square;
  }
  const double variance = tokens * sum / (total * total), rho = tokens * P2;  // ρ E_{ν_2a}‖x‖², and ρ
  std::array<double, kLengths> bounds = {};
  for (std::size_t i = 0; i < kLengths; ++i) {
    const double L = length_at(i);
    double best = radius * radius;  // outputs of prompts are means of values
    for (int k = 1; k < kSlacks; ++k) {
      const double delta = static_cast<double>(k) / kSlacks;
      best = std::min(best, variance / (L * (1 - delta) * (1 - delta)) +
                                radius * radius * std::exp(-delta * delta * L / (2 * rho)));
    }
    bounds[i] = best;
  }
  return bounds;
}

double length_within(const std::array<double, kLengths>& errors, double limit) {
  std::size_t above = kLengths;  // one past the last length at which the error is too large
  while (above > 0 && errors[above - 1] <= limit) --above;
  if (above == 0) return 1;
  const double L = length_at(above - 1), error = errors[above - 1];
  if (above == kLengths) return L * error / limit;
  const double next = errors[above];
  if (!(next > 0) || !(limit > 0)) return length_at(above);
  const double share = std::log(error / limit) / std::log(error / next);
  return L * std::exp2(share);
}

}  // namespace largo::heads
