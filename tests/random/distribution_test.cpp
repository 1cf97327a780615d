// Do the draws behave like independent uniform and normal numbers? Seeds are fixed, so a run either always
// passes or always fails; a random seed would exceed the threshold once in 16,000 times per statistic.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "largo/random/streams.hpp"
#include "support/kolmogorov.hpp"

namespace largo::distribution_test {
namespace {

constexpr std::size_t kDraws = 1000000;
constexpr double kMaxZ = 4;             // two-sided false-alarm rate 6.3e-5
constexpr double kMaxKolmogorov = 2.3;  // sqrt(n) D; P(K > 2.3) = 2 exp(-2 2.3^2) = 5.1e-5

std::vector<double> uniforms(const Stream& stream, std::size_t count = kDraws) {
  std::vector<double> draws(count);
  stream.uniforms(0, draws);
  return draws;
}

std::vector<double> normals(const Stream& stream, std::size_t count = kDraws) {
  std::vector<double> draws(count);
  stream.normals(0, draws);
  return draws;
}

/// (mean of f(draw) - expected) in standard errors, where `deviation` is the exact standard deviation of f.
template <class F>
double z_score(const std::vector<double>& draws, double expected, double deviation, F f) {
  double sum = 0;
  for (const double x : draws) sum += f(x) - expected;
  return sum / (deviation * std::sqrt(static_cast<double>(draws.size())));
}

/// The correlation of x[i] and y[i], in standard errors, for variables of mean 0 and variance 1.
double correlation_z(const std::vector<double>& x, const std::vector<double>& y, std::size_t lag = 0) {
  const std::size_t count = x.size() - lag;
  double sum = 0;
  for (std::size_t i = 0; i < count; ++i) sum += x[i] * y[i + lag];
  return sum / std::sqrt(static_cast<double>(count));
}

template <class Cdf>
double kolmogorov(std::vector<double> draws, Cdf cdf) {
  for (double& draw : draws) draw = cdf(draw);
  return std::sqrt(static_cast<double>(draws.size())) * test::kolmogorov_distance(draws);
}

double normal_cdf(double x) { return std::erfc(-x / std::sqrt(2.0)) / 2; }

std::vector<double> standardised(std::vector<double> draws) {
  for (double& u : draws) u = (u - 0.5) * std::sqrt(12.0);
  return draws;
}

TEST(Uniforms, MomentsAndRange) {
  const auto u = uniforms(Stream(2024, 1));
  EXPECT_GT(*std::min_element(u.begin(), u.end()), 0);
  EXPECT_LT(*std::max_element(u.begin(), u.end()), 1);
  EXPECT_LT(std::abs(z_score(u, 1 / 2.0, std::sqrt(1 / 12.0), [](double x) { return x; })), kMaxZ);
  const auto square = [](double x) { return (x - 0.5) * (x - 0.5); };
  EXPECT_LT(std::abs(z_score(u, 1 / 12.0, std::sqrt(1 / 180.0), square)), kMaxZ);
  EXPECT_LT(kolmogorov(u, [](double x) { return x; }), kMaxKolmogorov);
}

TEST(Uniforms, EveryBitIsFair) {
  std::vector<std::uint64_t> draws(200000);
  Stream(2024, 2).bits(0, draws);
  for (int bit = 0; bit < 64; ++bit) {
    double ones = 0;
    for (const std::uint64_t draw : draws) ones += static_cast<double>(draw >> bit & 1);
    const auto n = static_cast<double>(draws.size());
    EXPECT_LT(std::abs(ones - n / 2) / std::sqrt(n / 4), kMaxZ) << bit;
  }
}

TEST(Normals, Moments) {
  const auto z = normals(Stream(2024, 3));
  EXPECT_LT(std::abs(z_score(z, 0, 1, [](double x) { return x; })), kMaxZ);
  EXPECT_LT(std::abs(z_score(z, 1, std::sqrt(2.0), [](double x) { return x * x; })), kMaxZ);
  EXPECT_LT(std::abs(z_score(z, 0, std::sqrt(15.0), [](double x) { return x * x * x; })), kMaxZ);
  EXPECT_LT(std::abs(z_score(z, 3, std::sqrt(96.0), [](double x) { return x * x * x * x; })), kMaxZ);
}

TEST(Normals, TailsAndWholeLaw) {
  const auto z = normals(Stream(2024, 4));
  for (const double threshold : {1.0, 2.0, 3.0, 4.0}) {
    const double p = normal_cdf(-threshold);
    const double deviation = std::sqrt(p * (1 - p));
    const auto above = [threshold](double x) { return x > threshold ? 1.0 : 0.0; };
    const auto below = [threshold](double x) { return x < -threshold ? 1.0 : 0.0; };
    EXPECT_LT(std::abs(z_score(z, p, deviation, above)), kMaxZ) << threshold;
    EXPECT_LT(std::abs(z_score(z, p, deviation, below)), kMaxZ) << threshold;
  }
  EXPECT_LT(kolmogorov(z, normal_cdf), kMaxKolmogorov);
}

TEST(Independence, WithinAStream) {
  const auto u = standardised(uniforms(Stream(2024, 5)));
  const auto z = normals(Stream(2024, 5));
  auto squares = z;  // Box and Muller's pairs share a radius, so squares must be uncorrelated too
  for (double& x : squares) x = (x * x - 1) / std::sqrt(2.0);
  for (const std::size_t lag : {1, 2, 3, 4, 8, 16}) {
    EXPECT_LT(std::abs(correlation_z(u, u, lag)), kMaxZ) << lag;
    EXPECT_LT(std::abs(correlation_z(z, z, lag)), kMaxZ) << lag;
    EXPECT_LT(std::abs(correlation_z(squares, squares, lag)), kMaxZ) << lag;
  }
}

TEST(Independence, BetweenStreamsAndSeeds) {
  const Stream base(2024, 6);
  const auto z = normals(base);
  const Stream others[] = {Stream(2024, 7), Stream(2025, 6), Stream(2024, 6ULL << 32), base.substream(0),
                           base.substream(1)};
  for (const Stream& other : others) {
    const auto w = normals(other);
    EXPECT_LT(std::abs(correlation_z(z, w)), kMaxZ) << other.seed() << " " << other.id();
    EXPECT_LT(std::abs(correlation_z(z, w, 1)), kMaxZ) << other.seed() << " " << other.id();
  }
}

}  // namespace
}  // namespace largo::distribution_test
