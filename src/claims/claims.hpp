// The claims of the paper, and our own results: each is computed and becomes a section of a report, with a
// verdict.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "largo/runtime/execution.hpp"
#include "report/report.hpp"

namespace largo {

struct ClaimOptions {
  std::uint64_t seed = 1;
  bool quick = false, full = false;
  Execution execution;
  const Device* device = nullptr;  ///< for the descents of the published experiment
};

struct NamedClaim {
  const char* id;
  ReportSection (*check)(const ClaimOptions& options);
};

/// In the order of the report.
std::span<const NamedClaim> all_claims();
/// The one that a device has work for.
inline constexpr const char* kTrainedClaim = "published";

/// A claim holds if `condition` does and all its numbers are within their limits; the reason is made of
/// these, and of `what` the condition is.
void decide(ReportSection& claim, bool condition, const std::string& what = {});

/// `count` numbers from first to last, equally spaced in their logarithm.
std::vector<double> log_spaced(double first, double last, int count);

/// The same as lengths of prompts, which are whole: rounded to two significant digits, so that a table and a
/// figure show what was computed.
std::vector<double> log_spaced_lengths(double first, double last, int count);

ReportSection lemma_claim(const ClaimOptions& options);
ReportSection exact_error_claim(const ClaimOptions& options);
ReportSection other_laws_claim(const ClaimOptions& options);
ReportSection exponent_claim(const ClaimOptions& options);
ReportSection audit_claim(const ClaimOptions& options);
ReportSection bounds_claim(const ClaimOptions& options);
ReportSection softmax_linear_claim(const ClaimOptions& options);
ReportSection infinite_limit_claim(const ClaimOptions& options);
ReportSection transfer_claim(const ClaimOptions& options);
ReportSection threshold_claim(const ClaimOptions& options);
ReportSection risk_ratio_claim(const ClaimOptions& options);
ReportSection slow_limit_claim(const ClaimOptions& options);
ReportSection published_claim(const ClaimOptions& options);
ReportSection other_covariates_claim(const ClaimOptions& options);

// R_L - R_∞ of two heads off the invariant set, by plain trapezoidal rules: what a claim about exact_risk()
// is held against. Shares no code with it, only the formula of the risk given a task and a query.

/// In one dimension and in two: covariates, queries and tasks standard normal, no noise, the label as value;
/// in U the first entry is `alpha`, that of the label and the first coordinate of the query is `beta`, and
/// all others are zero. Domain: 2 <= L <= 1e32, alpha and beta of size one. Error: 1e-7 of the results. Cost:
/// 0.1 s.
std::array<double, 2> plain_excess(double alpha, double beta, double L);

}  // namespace largo
