// Summary of the rows of a grid: slopes, exponents, and whether the paper's bounds hold.
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
  bool fitted = true;  ///< false if the constants were given
  BoundVerdict verdict;
};

/// The curves of one scale and method.
struct ScaleSummary {
  double scale = 1;
  ErrorMethod method = ErrorMethod::exact;
  std::optional<Estimate> output, gradient_V, gradient_U;  ///< slopes of ln error against ln L
  std::optional<AsymptoticExponent> asymptotic;
};

struct ConcentrationSummary {
  double sub_gaussian = 0;  ///< constant of the tokens at scale 1; σ of the bounds is this times the scale
  SubGaussianKind sub_gaussian_kind = SubGaussianKind::smallest;
  ErrorMethod method = ErrorMethod::exact;  ///< rows used for the bounds: exact ones if there are any
  std::optional<BoundReport> output, gradient_V, gradient_U;  ///< empty if there is nothing to fit
  std::vector<ScaleSummary> scales;                           ///< in the order of the rows
};

/// Checks the constants `given`, for all bounds, instead of fitted ones. A fitted c2 is at most σ² times the
/// asymptotic exponent, if that is known; with a larger c2 the bound would fail for longer prompts.
ConcentrationSummary summarise(const AttentionLayer& layer, std::span<const ConcentrationRow> rows,
                               const std::optional<BoundConstants>& given = std::nullopt);

}  // namespace largo
