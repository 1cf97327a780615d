#include "random/battery/normal_tests.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace largo::battery {
namespace {

constexpr std::size_t kLanes = 8;  // partial sums, so that compilers vectorise without reordering

// Σ f(i) over i in [first, last), for any last - first.
template <class F>
double sum_over(std::size_t first, std::size_t last, const F& f) {
  std::array<double, kLanes> partial{};
  std::size_t i = first;
  for (; i + kLanes <= last; i += kLanes) {
    for (std::size_t k = 0; k < kLanes; ++k) partial[k] += f(i + k);
  }
  for (; i < last; ++i) partial[0] += f(i);
  double sum = 0;
  for (const double p : partial) sum += p;
  return sum;
}

double product(float x, float y) { return double{x} * double{y}; }
// (x² - 1)(y² - 1)/2: mean 0 and variance 1 for independent standard normals.
double squares(float x, float y) { return (double{x} * double{x} - 1) * (double{y} * double{y} - 1) / 2; }

// E x^k for a standard normal x.
double moment(int k) {
  if (k % 2 == 1) return 0;
  double m = 1;
  for (int j = 1; j < k; j += 2) m *= j;
  return m;
}

double below(double x) { return std::erfc(-x / std::sqrt(2.0)) / 2; }

}  // namespace

void NormalTests::add_one(One& one, std::span<const float> x) {
  std::array<std::array<double, kLanes>, 8> partial{};
  for (std::size_t i = 0; i < x.size(); i += kLanes) {
    std::array<double, kLanes> power;
    power.fill(1);
    for (auto& sums : partial) {
      for (std::size_t k = 0; k < kLanes; ++k) {
        power[k] *= double{x[i + k]};
        sums[k] += power[k];
      }
    }
  }
  for (std::size_t p = 0; p < partial.size(); ++p) {
    for (const double sum : partial[p]) one.powers[p] += sum;
  }
  for (const float value : x) {
    const double bin = (double{value} + kRange) * kBinsPerUnit;
    ++one.bins[static_cast<std::size_t>(std::clamp(bin, 0.0, kBins - 1.0))];
    const float size = std::abs(value);
    if (size > 4) [[unlikely]] {
      ++one.beyond[0];
      one.beyond[1] += size > 5;
      one.beyond[2] += size > 6;
    }
  }
}

void NormalTests::add(std::span<const float> first, std::span<const float> second) {
  const std::size_t count = first.size();
  add_one(one_[0], first);
  add_one(one_[1], second);
  tokens_ += static_cast<double>(count);
  pair_ += sum_over(0, count, [&](std::size_t i) { return product(first[i], second[i]); });
  pair_squares_ += sum_over(0, count, [&](std::size_t i) { return squares(first[i], second[i]); });
  for (std::size_t k = 0; k < kLags.size(); ++k) {
    const std::size_t lag = kLags[k];
    lagged_[k] += sum_over(lag, count, [&](std::size_t i) { return product(first[i], first[i - lag]); });
    lagged_squares_[k] +=
        sum_over(lag, count, [&](std::size_t i) { return squares(first[i], first[i - lag]); });
    lagged_cross_[k] +=
        sum_over(lag, count, [&](std::size_t i) { return product(first[i], second[i - lag]); });
    lagged_count_[k] += static_cast<double>(count - lag);
  }
  if (!last_first_.empty()) {
    const auto& last = last_first_;
    prompts_ += sum_over(0, count, [&](std::size_t i) { return product(first[i], last[i]); });
    prompts_squares_ += sum_over(0, count, [&](std::size_t i) { return squares(first[i], last[i]); });
    prompts_cross_ += sum_over(0, count, [&](std::size_t i) { return product(second[i], last[i]); });
    prompts_count_ += static_cast<double>(count);
  }
  last_first_.assign(first.begin(), first.end());
}

void NormalTests::report_one(const char* which, const One& one, std::vector<Result>& results) const {
  for (int k = 1; k <= 8; ++k) {
    const double deviation = std::sqrt((moment(2 * k) - moment(k) * moment(k)) * tokens_);
    const double z = (one.powers[static_cast<std::size_t>(k - 1)] - moment(k) * tokens_) / deviation;
    results.push_back(normal_result(fmt::format("moment {} of the {} normal", k, which), z));
  }
  std::vector<double> probabilities(kBins);
  double distance = 0, seen = 0;
  for (std::size_t bin = 0; bin < kBins; ++bin) {
    const auto edge = [](std::size_t b) { return static_cast<double>(b) / kBinsPerUnit - kRange; };
    // Computed from the nearer tail, for the sake of relative precision.
    probabilities[bin] =
        bin < kBins / 2 ? below(edge(bin + 1)) - below(edge(bin)) : below(-edge(bin)) - below(-edge(bin + 1));
    seen += static_cast<double>(one.bins[bin]);
    distance = std::max(distance, std::abs(seen / tokens_ - below(edge(bin + 1))));
  }
  results.push_back(counts_result(fmt::format("density of the {} normal", which), one.bins, probabilities));
  results.push_back(
      kolmogorov_result(fmt::format("Kolmogorov-Smirnov, {} normal", which), distance, tokens_));
  for (std::size_t k = 0; k < one.beyond.size(); ++k) {
    const double edge = 4 + static_cast<double>(k);
    results.push_back(poisson_result(fmt::format("{} normal beyond {}", which, edge),
                                     static_cast<double>(one.beyond[k]), 2 * below(-edge) * tokens_));
  }
}

void NormalTests::report(std::vector<Result>& results) const {
  report_one("first", one_[0], results);
  report_one("second", one_[1], results);
  const auto score = [&](std::string name, double sum, double count) {
    if (count > 0) results.push_back(normal_result(std::move(name), sum / std::sqrt(count)));
  };
  score("correlation in pairs", pair_, tokens_);
  score("correlation in pairs, squares", pair_squares_, tokens_);
  for (std::size_t k = 0; k < kLags.size(); ++k) {
    score(fmt::format("correlation of tokens {} apart", kLags[k]), lagged_[k], lagged_count_[k]);
    score(fmt::format("correlation of tokens {} apart, squares", kLags[k]), lagged_squares_[k],
          lagged_count_[k]);
    score(fmt::format("correlation of tokens {} apart, first and second", kLags[k]), lagged_cross_[k],
          lagged_count_[k]);
  }
  score("correlation of neighbouring prompts", prompts_, prompts_count_);
  score("correlation of neighbouring prompts, squares", prompts_squares_, prompts_count_);
  score("correlation of neighbouring prompts, second and first", prompts_cross_, prompts_count_);
}

}  // namespace largo::battery
