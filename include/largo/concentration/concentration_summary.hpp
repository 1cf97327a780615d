// What the rows of a grid say together: slopes, exponents, and whether the paper's bounds hold.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "largo/concentration/asymptotic_exponent.hpp"
#include "largo/concentration/concentration_grid.hpp"
#include "largo/concentration/error_bound.hpp"
#include "largo/measures/measure.hpp"

namespace largo {

struct BoundReport {
  BoundConstants constants;
  bool fitted = true;  ///< or given
  BoundVerdict verdict;
};

/// The curves of one scale and method.
struct ScaleSummary {
  double scale = 1;
  ErrorMethod method = ErrorMethod::exact;
  std::optional<Estimate> output, gradient_V, gradient_U;  ///< log_slope over all lengths
  std::optional<AsymptoticExponent> asymptotic;
};

struct ConcentrationSummary {
  double sub_gaussian = 0;  ///< of the tokens at scale 1; times the scale it is σ of the bounds
  SubGaussianKind sub_gaussian_kind = SubGaussianKind::smallest;
  ErrorMethod method = ErrorMethod::exact;  ///< whose rows the bounds are about: exact ones if there are any
  std::optional<BoundReport> output, gradient_V, gradient_U;  ///< none where there is nothing to fit
  std::vector<ScaleSummary> scales;                           ///< in the order of the rows
};

/// `given` are constants to check in place of the fitted ones, for all bounds. Fitted c2 are at most σ² times
/// the asymptotic exponent, where it is known: with more a bound would fail for longer prompts.
ConcentrationSummary summarise(const AttentionLayer& layer, std::span<const ConcentrationRow> rows,
                               const std::optional<BoundConstants>& given = std::nullopt);

}  // namespace largo
