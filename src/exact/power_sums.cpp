#include "largo/exact/power_sums.hpp"

#include <cmath>
#include <vector>

#include "exact/master_formula.hpp"
#include "largo/exact/softmax_moments.hpp"
#include "largo/runtime/check.hpp"

namespace largo {

Estimate power_sum_moment(std::span<const int> parts, double s, double L) {
  constexpr const char* kName = "power_sum_moment";
  check_score_spread(kName, s);
  check_prompt_length(kName, L);
  if (parts.empty()) fail(kName, "parts must not be empty");
  exact::Product product;
  double log_at_zero = 0;
  int sum = 0;
  for (const int part : parts) {
    if (part < 1) fail(kName, "part", part, "at least 1");
    if (part == 1) continue;  // P_1 = 1
    product.factors.push_back({part, 0, 0});
    log_at_zero += 1 - part;
    sum += part;
    if (sum > kLargestPartSum) fail(kName, "sum of the parts", sum, "at most 24");
  }
  if (product.factors.size() > kMostParts) {
    fail(kName, "number of parts", static_cast<double>(product.factors.size()), "at most 8 beside ones");
  }
  if (product.factors.empty() || L == 1) return {1, 0};
  if (s == 0 || L == kInfinitePrompt) return {std::pow(L, log_at_zero), 0};
  return exact::MasterFormula({{product}})(s, L).front();
}

PowerSumMoments power_sum_moments(double s, double L) {
  check_score_spread("power_sum_moments", s);
  check_prompt_length("power_sum_moments", L);
  if (L == 1) return {{1, 0}, {1, 0}, {1, 0}};
  if (s == 0 || L == kInfinitePrompt) return {{1 / L, 0}, {1 / L / L, 0}, {1 / L / L, 0}};
  constexpr exact::Block P2{2, 0, 0};
  static const exact::MasterFormula formula({{{1, {P2}}}, {{1, {{3, 0, 0}}}}, {{1, {P2, P2}}}});
  const std::vector<Estimate> e = formula(s, L);
  return {e[0], e[1], e[2]};
}

double log_lognormal_laplace(double log_t, double s) {
  constexpr const char* kName = "log_lognormal_laplace";
  check_score_spread(kName, s);
  if (!(std::abs(log_t) <= 700)) fail(kName, "log_t", log_t, "between -700 and 700");
  if (s < 0.25 && log_t > 34 && s > 0) fail(kName, "log_t", log_t, "at most 34 for s below 1/4");
  // The value is -t + O(s²t²), where the correction is below rounding.
  if (s == 0 || (s < 1e-8 && log_t + 2 * std::log(s) < -40)) return -std::exp(log_t);
  exact::ScoreIntegrals integrals(s, 1, {});
  exact::ScoreIntegrals::Values values;
  constexpr double kFullDepth = 38;
  integrals.at(log_t, kFullDepth, values);
  return values.log_phi;
}

}  // namespace largo
