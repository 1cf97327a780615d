#include "random/battery/result.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include <boost/math/distributions/chi_squared.hpp>
#include <boost/math/distributions/normal.hpp>
#include <boost/math/distributions/poisson.hpp>

#include "support/kolmogorov.hpp"

namespace largo::battery {
namespace {

using boost::math::cdf;
using boost::math::complement;

// P(K > x) for the limiting law of √n D.
double kolmogorov_above(double x) {
  if (x < 0.3) return 1;
  if (x < 1.18) {  // the other series of the theta function, as the usual one converges slowly here
    const double pi = 3.14159265358979323846;
    double sum = 0;
    for (int k = 1; k < 20; k += 2) sum += std::exp(-k * k * pi * pi / (8 * x * x));
    return 1 - std::sqrt(2 * pi) / x * sum;
  }
  double sum = 0;
  for (int k = 1; k < 20; ++k) sum += (k % 2 == 1 ? 2 : -2) * std::exp(-2.0 * k * k * x * x);
  return sum;
}

double kolmogorov_below(double x) {
  if (x >= 1.18) return 1 - kolmogorov_above(x);
  const double pi = 3.14159265358979323846;
  double sum = 0;
  for (int k = 1; k < 20; k += 2) sum += std::exp(-k * k * pi * pi / (8 * x * x));
  return x > 0 ? std::sqrt(2 * pi) / x * sum : 0;
}

}  // namespace

Result normal_result(std::string name, double z) {
  const boost::math::normal law;
  return {std::move(name), z, cdf(law, z), cdf(complement(law, z))};
}

Result chi_square_result(std::string name, double statistic, double degrees) {
  const boost::math::chi_squared law(degrees);
  return {std::move(name), statistic, cdf(law, statistic), cdf(complement(law, statistic))};
}

Result poisson_result(std::string name, double count, double mean) {
  const boost::math::poisson law(mean);
  const double half = pdf(law, count) / 2;
  return {std::move(name), count, cdf(law, count) - half, cdf(complement(law, count)) + half, mean > 100};
}

Result kolmogorov_result(std::string name, double distance, double n) {
  const double root = std::sqrt(n);
  const double x = (root + 0.12 + 0.11 / root) * distance;
  return {std::move(name), root * distance, kolmogorov_below(x), kolmogorov_above(x)};
}

Result worst_result(std::string name, std::span<const double> z) {
  double worst = 0;
  for (const double value : z) worst = std::max(worst, std::abs(value));
  const double p = std::erfc(worst / std::sqrt(2.0));
  const double none = static_cast<double>(z.size()) * std::log1p(-p);
  return {std::move(name), worst, std::exp(none), -std::expm1(none)};
}

Result rarest_result(std::string name, double statistic, double p, double trials) {
  const double none = p < 1 ? trials * std::log1p(-p) : -INFINITY;  // log of P(no trial is this rare)
  return {std::move(name), statistic, 1, -std::expm1(none), false};
}

Result counts_result(std::string name, std::span<const std::uint64_t> counts,
                     std::span<const double> probabilities) {
  double n = 0;
  for (const std::uint64_t count : counts) n += static_cast<double>(count);
  std::vector<double> observed, expected;
  double o = 0, e = 0;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    o += static_cast<double>(counts[i]);
    e += n * probabilities[i];
    if (e < 5) continue;
    observed.push_back(std::exchange(o, 0));
    expected.push_back(std::exchange(e, 0));
  }
  if (expected.empty()) return {std::move(name), 0, 1, 1, false};
  observed.back() += o;
  expected.back() += e;
  if (expected.size() == 1) return {std::move(name), 0, 1, 1, false};
  double sum = 0;
  for (std::size_t i = 0; i < observed.size(); ++i) {
    const double difference = observed[i] - expected[i];
    sum += difference * difference / expected[i];
  }
  Result result = chi_square_result(std::move(name), sum, static_cast<double>(observed.size() - 1));
  if (n < 1000) {  // few counts can fit exactly
    result.below = 1;
    result.continuous = false;
  }
  return result;
}

double equal_chi_square(std::span<const std::uint32_t> counts) {
  double n = 0;
  for (const std::uint32_t count : counts) n += count;
  const double expected = n / static_cast<double>(counts.size());
  double sum = 0;
  for (const std::uint32_t count : counts) sum += (count - expected) * (count - expected);
  return sum / expected;
}

Result uniformity(std::span<const Result> results) {
  std::vector<double> p;
  for (const Result& result : results) {
    if (result.continuous) p.push_back(result.above);
  }
  if (p.empty()) return {"p-values", 0, 1, 1, false};
  return kolmogorov_result("p-values", test::kolmogorov_distance(p), static_cast<double>(p.size()));
}

}  // namespace largo::battery
