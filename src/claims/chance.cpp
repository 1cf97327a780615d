#include "claims/chance.hpp"

#include <cmath>

#include <fmt/core.h>

namespace largo::claims {

double z_limit(std::size_t comparisons) {
  const double tail = kFalseAlarm / static_cast<double>(comparisons);
  double low = 0, high = 40;
  while (high - low > 1e-13 * high) {
    const double middle = 0.5 * (low + high);
    (std::erfc(middle / std::sqrt(2.0)) > tail ? low : high) = middle;
  }
  return high;
}

report::ReportNumber largest_distance(const std::string& between, double worst, std::size_t comparisons) {
  return {fmt::format("largest distance of {}, in standard errors", between), worst, z_limit(comparisons)};
}

std::size_t most_missed(std::size_t intervals) {
  constexpr double kMiss = 0.05;
  const auto n = static_cast<double>(intervals);
  double probability = std::pow(1 - kMiss, n);  // of exactly k misses
  double more = 1 - probability;
  std::size_t k = 0;
  while (more > kFalseAlarm && k < intervals) {
    probability *= (n - static_cast<double>(k)) / (static_cast<double>(k) + 1) * kMiss / (1 - kMiss);
    more -= probability;
    ++k;
  }
  return k;
}

std::string chance_text(std::size_t comparisons) {
  return fmt::format(
      " The limit for the largest of {} distances in standard errors is chosen such that chance exceeds it "
      "in "
      "one of {} runs at most, if means of samples are normal.",
      comparisons, report::shown(1 / kFalseAlarm));
}

}  // namespace largo::claims
