// The claims of the paper, and our own results: what is computed for each, its numbers, figure and verdict.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "largo/report/figure.hpp"
#include "largo/runtime/execution.hpp"
#include "output.hpp"

namespace largo {

struct ClaimOptions {
  std::uint64_t seed = 1;
  bool quick = false, full = false;
  Execution execution;
  const Device* device = nullptr;  ///< for the descents of the published experiment
};

/// A number that a verdict may depend on.
struct ClaimNumber {
  std::string label;
  double value = 0;
  std::optional<double> limit = {};  ///< the most it may be
};

struct ClaimTable {
  std::string title;
  std::vector<std::string> columns;
  std::vector<std::vector<Json>> rows = {};  ///< numbers, texts
};

/// The same panels for other values of a parameter, in an interactive report.
struct FigureSlider {
  std::string label;
  std::vector<double> values = {};
  std::vector<std::vector<Panel>> panels = {};
};

struct ClaimFigure {
  std::string id;  ///< names its files
  Figure figure;
  std::optional<FigureSlider> slider = {};
};

enum class Verdict : std::uint8_t { holds, fails, not_testable };

struct Claim {
  std::string id, title, source;
  std::string statement;  ///< in plain words
  std::string formula;    ///< LaTeX
  std::string computed;   ///< what was done
  Verdict verdict = Verdict::fails;
  std::string reason = {};  ///< for the verdict: numbers against thresholds, one line
  std::vector<ClaimNumber> numbers = {};
  std::vector<ClaimTable> tables = {};
  std::vector<ClaimFigure> figures = {};
};

/// Holds if `condition` does and all numbers are within their limits; the reason is made of these, and of
/// `what` the condition is.
void decide(Claim& claim, bool condition, const std::string& what = {});

/// As docs/report.md has a section, without the command.
Json to_json(const Claim& claim);

/// On standard output.
void print(const Claim& claim);

/// `count` numbers from first to last, equally spaced in their logarithm.
std::vector<double> log_spaced(double first, double last, int count);

/// The same as lengths of prompts, which are whole: rounded to two significant digits, so that a table and a
/// figure show what was computed.
std::vector<double> log_spaced_lengths(double first, double last, int count);

Claim lemma_claim(const ClaimOptions& options);
Claim exact_error_claim(const ClaimOptions& options);
Claim other_laws_claim(const ClaimOptions& options);
Claim exponent_claim(const ClaimOptions& options);
Claim audit_claim(const ClaimOptions& options);
Claim bounds_claim(const ClaimOptions& options);
Claim softmax_linear_claim(const ClaimOptions& options);
Claim infinite_limit_claim(const ClaimOptions& options);
Claim transfer_claim(const ClaimOptions& options);
Claim threshold_claim(const ClaimOptions& options);
Claim risk_ratio_claim(const ClaimOptions& options);
Claim slow_limit_claim(const ClaimOptions& options);
Claim published_claim(const ClaimOptions& options);
Claim other_covariates_claim(const ClaimOptions& options);

}  // namespace largo
