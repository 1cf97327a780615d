// The result of a statistical test: a name, the value of its statistic, and both tail probabilities under the
// hypothesis that the words are independent and uniform.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace largo::battery {

struct Result {
  std::string name;
  double statistic = 0;
  double below = 1;        ///< P(T <= statistic)
  double above = 1;        ///< P(T >= statistic): the p-value
  bool continuous = true;  ///< if not, the p-values of a good generator are not uniform, only not too small

  double tail() const { return below < above ? below : above; }
};

/// A standard normal statistic.
Result normal_result(std::string name, double z);

/// A chi-square statistic from large counts.
Result chi_square_result(std::string name, double statistic, double degrees);

/// A Poisson count; half of P(T = count) goes into either tail.
Result poisson_result(std::string name, double count, double mean);

/// √n times the Kolmogorov-Smirnov distance, by the limiting law with Stephens's correction, which is exact
/// to three digits for n >= 10.
Result kolmogorov_result(std::string name, double distance, double n);

/// The largest |z| of several, with the probability that this many independent ones stay below or above it.
Result worst_result(std::string name, std::span<const double> z);

/// The smallest of `trials` independent p-values of a discrete statistic, where `p` is that smallest one. It
/// has the upper tail alone.
Result rarest_result(std::string name, double statistic, double p, double trials);

/// Counts against probabilities; classes with fewer than five expected join their neighbour. Fewer than 1000
/// counts have the upper tail alone.
Result counts_result(std::string name, std::span<const std::uint64_t> counts,
                     std::span<const double> probabilities);

/// Σ (count - n/k)² k/n over k equally likely classes.
double equal_chi_square(std::span<const std::uint32_t> counts);

/// The rule, fixed before any run: a battery fails if a tail is below this. Each p-value of a good generator
/// is so with probability 2e-10.
inline constexpr double kFailure = 1e-10;
/// Suspicious results are printed, no more.
inline constexpr double kSuspicious = 1e-4;

/// Whether the continuous p-values look uniform (p-values from the same words are not quite independent).
Result uniformity(std::span<const Result> results);

}  // namespace largo::battery
