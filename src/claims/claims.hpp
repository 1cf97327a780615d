// The claims of the paper, and our own results: each is computed and becomes a section with a verdict.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "largo/runtime/execution.hpp"
#include "numerics/larger.hpp"
#include "report/report.hpp"

namespace largo::claims {

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();

struct ClaimOptions {
  std::uint64_t seed = 1;
  bool quick = false, full = false;
  Execution execution;
  const Device* device = nullptr;  ///< for the descents of the published experiment
  /// The negative control, counted from one: the claim makes wrong on purpose what this one of
  /// NamedClaim::controls says, and must then fail. Zero: nothing is wrong.
  int control = 0;
};

/// What the negative controls of a claim make wrong, a sentence for each. Together they are to violate every
/// condition of the verdict that can be violated cheaply.
struct Controls {
  template <typename... More>
  constexpr Controls(const char* first, More... more)
      : texts{first, more...}, count(1 + static_cast<int>(sizeof...(more))) {}
  std::string text(int number) const { return texts[static_cast<std::size_t>(number) - 1]; }

  std::array<const char*, 4> texts;
  int count;
};

/// What is claimed, and how it is checked.
struct NamedClaim {
  const char *id, *title, *source, *statement, *formula;
  Controls control;
  report::ReportSection (*compute)(const ClaimOptions& options);  ///< the section without these

  report::ReportSection check(const ClaimOptions& options) const {
    report::ReportSection section = compute(options);
    section.id = id;
    section.title = title;
    section.source = source;
    section.statement = statement;
    section.formula = formula;
    for (int k = 1; k <= control.count; ++k) section.control += (k > 1 ? " " : "") + control.text(k);
    return section;
  }
};

/// All claims, in the order of the report.
std::span<const NamedClaim> all_claims();
/// The claim that a device has work for.
inline constexpr const char* kPublishedClaim = "published";

using numerics::larger;  // a verdict on NaN fails

/// A condition of a verdict that is not the limit of a number, and how the reason puts it.
struct Condition {
  bool holds = false;
  const char *when_it_holds, *when_it_fails;
};

/// The claim with its verdict: it holds if the conditions do and all its numbers are within their limits. The
/// reason names these.
report::ReportSection decided(report::ReportSection claim, const std::vector<Condition>& conditions = {});

/// `count` numbers from first to last, equally spaced in their logarithm.
std::vector<double> log_spaced(double first, double last, int count);

/// The same for lengths of prompts, which are whole: they are rounded to two significant digits, so that
/// tables and figures show exactly what was computed.
std::vector<double> log_spaced_lengths(double first, double last, int count);

report::ReportSection almost_sure_claim(const ClaimOptions& options);
report::ReportSection lemma_claim(const ClaimOptions& options);
report::ReportSection exact_error_claim(const ClaimOptions& options);
report::ReportSection other_laws_claim(const ClaimOptions& options);
report::ReportSection classes_claim(const ClaimOptions& options);
report::ReportSection planted_claim(const ClaimOptions& options);
report::ReportSection temperature_claim(const ClaimOptions& options);
report::ReportSection averaged_exponent_claim(const ClaimOptions& options);
report::ReportSection audit_claim(const ClaimOptions& options);
report::ReportSection bounds_claim(const ClaimOptions& options);
report::ReportSection proof_claim(const ClaimOptions& options);
report::ReportSection certified_claim(const ClaimOptions& options);
report::ReportSection linear_error_claim(const ClaimOptions& options);
report::ReportSection softmax_linear_claim(const ClaimOptions& options);
report::ReportSection stability_claim(const ClaimOptions& options);
report::ReportSection infinite_limit_claim(const ClaimOptions& options);
report::ReportSection exact_risk_claim(const ClaimOptions& options);
report::ReportSection transfer_claim(const ClaimOptions& options);
report::ReportSection threshold_claim(const ClaimOptions& options);
report::ReportSection risk_ratio_claim(const ClaimOptions& options);
report::ReportSection random_lengths_claim(const ClaimOptions& options);
report::ReportSection slow_limit_claim(const ClaimOptions& options);
report::ReportSection single_location_claim(const ClaimOptions& options);
report::ReportSection real_heads_claim(const ClaimOptions& options);
report::ReportSection published_claim(const ClaimOptions& options);
report::ReportSection other_covariates_claim(const ClaimOptions& options);
report::ReportSection other_losses_claim(const ClaimOptions& options);

}  // namespace largo::claims
