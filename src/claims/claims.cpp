#include "claims/claims.hpp"

#include <array>
#include <cmath>
#include <cstdlib>

#include <fmt/core.h>

#include "report/report.hpp"

namespace largo::claims {

std::span<const NamedClaim> all_claims() {
  static constexpr std::array kClaims = std::to_array<NamedClaim>({
      {"lemma", lemma_claim},
      {"exact-error", exact_error_claim},
      {"other-laws", other_laws_claim},
      {"averaged-exponent", averaged_exponent_claim},
      {"audit", audit_claim},
      {"bounds", bounds_claim},
      {"softmax-linear", softmax_linear_claim},
      {"infinite-limit", infinite_limit_claim},
      {"transfer", transfer_claim},
      {"threshold", threshold_claim},
      {"risk-ratio", risk_ratio_claim},
      {"random-lengths", random_lengths_claim},
      {"slow-limit", slow_limit_claim},
      {kPublishedClaim, published_claim},
      {"other-covariates", other_covariates_claim},
  });
  return kClaims;
}

void decide(report::ReportSection& claim, bool condition, const std::string& what) {
  bool holds = condition;
  claim.reason = what;
  for (const report::ReportNumber& number : claim.numbers) {
    if (!number.limit) continue;
    holds = holds && number.value <= *number.limit;
    claim.reason += fmt::format("{}{}: {} (tolerance {})", claim.reason.empty() ? "" : "; ", number.label,
                                report::shown(number.value), report::shown(*number.limit));
  }
  claim.verdict = holds ? report::Verdict::holds : report::Verdict::fails;
}

std::vector<double> log_spaced(double first, double last, int count) {
  std::vector<double> values;
  for (int i = 0; i < count; ++i) values.push_back(first * std::pow(last / first, i / (count - 1.0)));
  return values;
}

std::vector<double> log_spaced_lengths(double first, double last, int count) {
  std::vector<double> lengths;
  for (const double L : log_spaced(first, last, count)) {
    lengths.push_back(std::round(std::strtod(fmt::format("{:.1e}", L).c_str(), nullptr)));
  }
  return lengths;
}

}  // namespace largo::claims
