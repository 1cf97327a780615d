// The claims about how fast finite prompts reach the limit: a published audit, the bounds, linear attention.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "claims/claims.hpp"
#include "largo/concentration/concentration_grid.hpp"
#include "largo/concentration/linear_attention.hpp"
#include "largo/measures/gaussian.hpp"
#include "largo/measures/named_matrix.hpp"
#include "numerics/factor.hpp"
#include "report/report.hpp"

namespace largo::claims {
namespace {

// Thresholds of the verdicts.
constexpr double kSlopeBound = 0.05;     // the errors are exact, but from L = 16 on: terms in 1/L² count
constexpr double kConstantBound = 0.01;  // distance from a limit, which falls like the tolerance

MeasurePtr gaussian(const Matrix& covariance) {
  return std::make_shared<GaussianMeasure>(Vector::Zero(covariance.rows()), covariance);
}

Matrix with_norm(const Matrix& A, double norm) { return A * (norm / numerics::operator_norm(A)); }

// One of the three errors of each row, as points for the bounds.
std::vector<BoundPoint> bound_points(const std::vector<ConcentrationRow>& rows,
                                     std::optional<ErrorBar> (*which)(const ConcentrationRow&)) {
  std::vector<BoundPoint> points;
  for (const ConcentrationRow& row : rows) {  // the tokens are standard, so σ of the bounds is sigma
    const ErrorBar error = *which(row);
    points.push_back({row.sigma, row.L, error.value, error.error});
  }
  return points;
}

}  // namespace

report::ReportSection audit_claim(const ClaimOptions& options) {
  constexpr std::ptrdiff_t d = 4;
  const struct {
    const char* name;
    Matrix covariance;
  } kLaws[] = {{"isotropic", Matrix::Identity(d, d)},
               {"toeplitz:0.5", named_matrix("covariance", "toeplitz:0.5", d, d)},
               {"condition 8", named_matrix("covariance", "0.2666666666666667*diag:1,2,4,8", d, d)}};
  report::ReportTable table{
      "Output errors at three lengths, and slopes of the three errors.",
      {"covariance", "L = 16", "L = 128", "L = 1024", "slope: output", "gradient in V", "gradient in U"}};
  Panel panels[3] = {{.title = "output"}, {.title = "gradient in V"}, {.title = "gradient in U"}};
  double steepest = std::numeric_limits<double>::infinity(), flattest = -steepest;
  int color = 0;
  for (const auto& [name, covariance] : kLaws) {
    const AttentionLayer layer{gaussian(covariance), with_norm(named_matrix("U", "random:1", d, d), 0.22),
                               with_norm(named_matrix("V", "random:2", d, d), 0.75),
                               gaussian(Matrix::Identity(d, d))};
    ConcentrationPlan plan;
    plan.lengths = {16, 32, 64, 128, 256, 512, 1024};
    plan.exponents = plan.certified = false;
    const auto rows = concentration_grid(layer, plan, options.execution);
    const SigmaSummary slopes = summarise(layer, rows).sigmas.front();
    Curve curves[3];
    for (Curve& curve : curves) curve = {.label = name, .color = color};
    ++color;
    for (const ConcentrationRow& row : rows) {
      for (Curve& curve : curves) curve.x.push_back(row.L);
      curves[0].y.push_back(row.output.value / d);
      curves[1].y.push_back(row.gradient_V.value);
      curves[2].y.push_back(row.gradient_U->value);
    }
    const auto& y = curves[0].y;
    table.rows.push_back(
        {name, y[0], y[3], y[6], slopes.output->value, slopes.gradient_V->value, slopes.gradient_U->value});
    for (const auto& slope : {slopes.output, slopes.gradient_V, slopes.gradient_U}) {
      steepest = std::min(steepest, slope->value);
      flattest = std::max(flattest, slope->value);
    }
    for (int k = 0; k < 3; ++k) panels[k].curves.push_back(std::move(curves[k]));
  }
  for (Panel& panel : panels) {
    panel.x_label = "prompt length L";
    panel.y_label = "averaged error";
  }
  report::ReportSection claim{
      .computed =
          "Exact errors averaged over standard Gaussian queries, d = 4, U and V random with operator norms "
          "0.22 and 0.75, three covariances of the tokens, L = 16 to 1024; slopes of ln error against ln L "
          "by least squares. Output errors are per coordinate."};
  claim.numbers = {
      {"largest |slope + 1|", std::max(std::abs(steepest + 1), std::abs(flattest + 1)), kSlopeBound},
      {"steepest slope", steepest},
      {"flattest slope", flattest}};
  claim.tables = {table};
  claim.figures = {{"audit",
                    {{panels[0], panels[1], panels[2]},
                     "Exact errors averaged over queries, for three covariances of the tokens."}}};
  return decided(std::move(claim), true);
}

report::ReportSection bounds_claim(const ClaimOptions& options) {
  report::ReportSection claim{
      .computed =
          "Exact errors of N(0, σ²I) tokens averaged over standard Gaussian queries, d = 4, U and V the "
          "identity. With c₂ = 0.4, c₁ is fitted at σ = 1, 2, 4 and lengths from 2 to 10¹²; twice that c₁ is "
          "then checked at five other σ from 1.2 to 3 and lengths up to 10³⁰⁰. The same with c₂ = 1, which "
          "is too large, must fail there: else the check would show nothing."};
  // For σ ≥ 1, σ² c(σ) is at least c(1) = 0.618 and at most 1: kC2 is below it, and kTooLarge above.
  constexpr double kC2 = 0.4, kTooLarge = 1;
  constexpr double kMargin = 2;
  constexpr std::ptrdiff_t d = 4;
  const Matrix identity = Matrix::Identity(d, d);
  const AttentionLayer layer{gaussian(identity), identity, identity, gaussian(identity)};
  ConcentrationPlan fit, check;
  fit.sigmas = {1, 2, 4};
  fit.lengths = log_spaced_lengths(2, 1e12, 9);
  check.sigmas = {1.2, 1.5, 1.7, 2.5, 3};
  check.lengths = log_spaced_lengths(3, 5e11, 8);
  for (const double L : {1e60, 1e150, 1e300}) check.lengths.push_back(L);
  fit.exponents = check.exponents = fit.certified = check.certified = false;
  const auto fitted = concentration_grid(layer, fit, options.execution);
  const auto checked = concentration_grid(layer, check, options.execution);
  using Which = std::optional<ErrorBar> (*)(const ConcentrationRow&);
  const struct {
    const char* name;
    BoundShape shape;
    Which of;
  } kErrors[] = {{"output", kOutputBound, [](const ConcentrationRow& r) { return std::optional(r.output); }},
                 {"gradient in V", kGradientVBound,
                  [](const ConcentrationRow& r) { return std::optional(r.gradient_V); }},
                 {"gradient in U", kGradientUBound, [](const ConcentrationRow& r) { return r.gradient_U; }}};
  report::ReportTable constants_table{
      "Constants, and the largest error over bound where they were not fitted.",
      {"error", "c₁", "c₂", "error/bound", "points", "error/bound with c₂ = 1"}};
  Figure figure{
      .caption =
          "Exact errors (lines) and the bounds with one pair of constants for all σ and L (dashed), at "
          "lengths and σ that were not fitted."};
  bool too_large_fails = true;
  for (const auto& [name, shape, of] : kErrors) {
    const auto fit_with = [&, &shape = shape, &of = of](double c2) {  // clang++ 14: & does not capture them
      const double least = check_bound(shape, {1, c2}, bound_points(fitted, of)).worst_ratio;
      return BoundConstants{kMargin * least, c2};
    };
    const BoundConstants constants = fit_with(kC2);
    const BoundVerdict verdict = check_bound(shape, constants, bound_points(checked, of));
    const double otherwise = check_bound(shape, fit_with(kTooLarge), bound_points(checked, of)).worst_ratio;
    too_large_fails = too_large_fails && otherwise > 1;
    constants_table.rows.push_back(
        {name, constants.c1, constants.c2, verdict.worst_ratio, verdict.points, otherwise});
    claim.numbers.push_back({fmt::format("largest error/bound, {}", name), verdict.worst_ratio, 1});
    Panel panel{.title = name, .x_label = "prompt length L", .y_label = "averaged error"};
    for (const double sigma : {1.2, 1.7, 3.0}) {
      const int color = static_cast<int>(panel.curves.size() / 2);
      Curve error{.label = fmt::format("σ = {:g}", sigma), .color = color},
          bound{.style = Curve::Style::dashed, .color = color};
      for (const BoundPoint& point : bound_points(checked, of)) {
        if (point.sigma != sigma || point.L > 1e12) continue;
        error.x.push_back(point.L);
        error.y.push_back(point.error);
        bound.x.push_back(point.L);
        bound.y.push_back(bound_value(shape, constants, sigma, point.L));
      }
      panel.curves.push_back(std::move(error));
      panel.curves.push_back(std::move(bound));
    }
    figure.panels.push_back(std::move(panel));
  }
  report::ReportTable sigmas_table{
      "The output error: its slope, and the largest c₂ that a bound can have at each σ.",
      {"σ", "slope over the lengths", "exponent c(σ), L → ∞", "σ² c(σ)"}};
  const ConcentrationSummary summary = summarise(layer, checked);
  for (const SigmaSummary& s : summary.sigmas) {
    sigmas_table.rows.push_back(
        {s.sigma, s.output->value, s.asymptotic->value, s.sigma * s.sigma * s.asymptotic->value});
  }
  claim.tables = {constants_table, sigmas_table};
  claim.figures = {{"bounds", figure}};
  return decided(std::move(claim), too_large_fails,
                 too_large_fails ? "c₂ = 1 fails, as it must" : "c₂ = 1 does not fail");
}

report::ReportSection softmax_linear_claim(const ClaimOptions& options) {
  constexpr std::ptrdiff_t d = 4;
  const Matrix identity = Matrix::Identity(d, d);
  const AttentionLayer at_query{gaussian(identity), identity, identity, Vector(Vector::Unit(d, 0))};
  const AttentionLayer averaged{gaussian(identity), identity, identity, gaussian(identity)};
  report::ReportTable table{
      "The shortest prompts over which softmax and linear attention differ by at most ε.",
      {"ε", "L at |z| = 1", "ε L", "L averaged over queries"}};
  // To first order in 1/L, the two differ by an average of L independent terms. With g the score of a token
  // and w = exp(g − 1/2), a term is w (g − 1) − (g² − 1) along z, with second moment 2e − 2, and w − g times
  // a standard normal in each of the d − 1 directions orthogonal to z, with second moment e − 1.
  constexpr double kConstant = (d + 1) * (std::numbers::e - 1);
  double last = std::numeric_limits<double>::infinity();
  Curve one{.label = "at |z| = 1"}, mean{.label = "averaged over queries", .color = 1},
      asymptote{
          .label = fmt::format("{}/ε", report::shown(kConstant)), .style = Curve::Style::dashed, .color = 7};
  bool found = true;
  const std::vector<double> tolerances =
      options.quick ? std::vector{0.1, 0.01, 0.001} : std::vector{0.3, 0.1, 0.03, 0.01, 0.003, 0.001};
  for (const double tolerance : tolerances) {
    const auto here = length_for_tolerance(at_query, tolerance, 1, options.execution);
    const auto overall = length_for_tolerance(averaged, tolerance * d, 1, options.execution);  // E|z|² = d
    found = found && here && overall;
    if (!found) break;
    last = tolerance * here->L;
    table.rows.push_back({tolerance, here->L, last, overall->L});
    for (Curve* curve : {&one, &mean, &asymptote}) curve->x.push_back(tolerance);
    asymptote.y.push_back(kConstant / tolerance);
    one.y.push_back(here->L);
    mean.y.push_back(overall->L);
  }
  report::ReportSection claim{.computed =
                                  "The shortest prompts over which the two differ by at most a tolerance ε "
                                  "(mean squared, relative to the squared limit), d = 4, U = V = I, at a "
                                  "query of unit length and averaged over standard Gaussian ones."};
  claim.tables = {table};
  if (!one.x.empty()) {
    claim.figures = {
        {"softmax-linear",
         {{{.x_label = "tolerance ε, relative to the squared limit",
            .y_label = "prompt length L",
            .curves = {one, mean, asymptote}}},
          "The shortest prompts over which linear attention is within a tolerance of softmax attention."}}};
  }
  claim.numbers = {
      {"|ε L / ((d + 1)(e − 1)) − 1| at the smallest ε", std::abs(last / kConstant - 1), kConstantBound}};
  return decided(
      std::move(claim), found,
      found ? "there is a length for every tolerance" : "no length up to 10³⁰⁰ for some tolerance");
}

}  // namespace largo::claims
