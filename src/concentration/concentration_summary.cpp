#include "largo/concentration/concentration_summary.hpp"

#include <algorithm>
#include <limits>

#include "concentration/log_slope.hpp"

namespace largo {
namespace {

using Rows = std::span<const ConcentrationRow>;

// One of the three errors of a row.
using Which = std::optional<ErrorBar> (*)(const ConcentrationRow& row);
std::optional<ErrorBar> output_of(const ConcentrationRow& row) { return row.output; }
std::optional<ErrorBar> gradient_V_of(const ConcentrationRow& row) { return row.gradient_V; }
std::optional<ErrorBar> gradient_U_of(const ConcentrationRow& row) { return row.gradient_U; }

std::optional<Estimate> slope(Rows rows, const ScaleSummary& curve, Which which) {
  std::vector<CurvePoint> points;
  for (const ConcentrationRow& row : rows) {
    const auto error = which(row);
    if (row.scale != curve.scale || row.method != curve.method || !error) continue;
    points.push_back({row.L, error->value, error->error});
  }
  return log_slope(points);
}

// With more a bound would fall faster than the errors of long prompts.
double largest_c2(const ConcentrationSummary& summary) {
  double largest = std::numeric_limits<double>::infinity();
  for (const ScaleSummary& curve : summary.scales) {
    if (!curve.asymptotic) continue;
    const double sigma = summary.sub_gaussian * curve.scale;
    largest = std::min(largest, sigma * sigma * curve.asymptotic->value);
  }
  return largest;
}

std::optional<BoundReport> bound(const ConcentrationSummary& summary, Rows rows, const BoundShape& shape,
                                 Which which, const std::optional<BoundConstants>& given) {
  std::vector<BoundPoint> points;
  for (const ConcentrationRow& row : rows) {
    const auto error = which(row);
    if (row.method != summary.method || !error) continue;
    points.push_back({summary.sub_gaussian * row.scale, row.L, error->value, error->value - error->low});
  }
  const auto constants = given ? given : fit_bound(shape, points, largest_c2(summary));
  if (!constants || points.empty()) return std::nullopt;
  return BoundReport{*constants, !given, check_bound(shape, *constants, points)};
}

}  // namespace

ConcentrationSummary summarise(const AttentionLayer& layer, Rows rows,
                               const std::optional<BoundConstants>& given) {
  check_layer("summarise", layer);
  ConcentrationSummary summary;
  summary.sub_gaussian = layer.tokens->sub_gaussian_constant();
  summary.sub_gaussian_kind = layer.tokens->sub_gaussian_kind();
  const bool any_exact = std::any_of(
      rows.begin(), rows.end(), [](const ConcentrationRow& row) { return row.method == ErrorMethod::exact; });
  summary.method = any_exact ? ErrorMethod::exact : ErrorMethod::sampled;
  for (const ConcentrationRow& row : rows) {
    const auto same = [&](const ScaleSummary& s) { return s.scale == row.scale && s.method == row.method; };
    if (std::any_of(summary.scales.begin(), summary.scales.end(), same)) continue;
    ScaleSummary& curve = summary.scales.emplace_back();
    curve.scale = row.scale;
    curve.method = row.method;
    curve.output = slope(rows, curve, output_of);
    curve.gradient_V = slope(rows, curve, gradient_V_of);
    curve.gradient_U = slope(rows, curve, gradient_U_of);
    curve.asymptotic = asymptotic_exponent(layer, row.scale);
  }
  summary.output = bound(summary, rows, kOutputBound, output_of, given);
  summary.gradient_V = bound(summary, rows, kGradientVBound, gradient_V_of, given);
  summary.gradient_U = bound(summary, rows, kGradientUBound, gradient_U_of, given);
  return summary;
}

}  // namespace largo
