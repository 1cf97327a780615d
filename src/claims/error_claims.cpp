// The exact error of attention over L Gaussian tokens: at one query, and averaged over queries.
#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "claims/chance.hpp"
#include "claims/claims.hpp"
#include "estimation/simulated_errors.hpp"
#include "largo/concentration/concentration_grid.hpp"
#include "largo/exact/softmax_moments.hpp"
#include "largo/measures/gaussian.hpp"
#include "report/report.hpp"

namespace largo::claims {
namespace {

// Thresholds of the verdicts.
constexpr double kExponentBound = 0.005;
// The slope of the averaged error is measured between these: it approaches the exponent logarithmically.
constexpr double kFirstLength = 1e150;
constexpr double kSecondLength = 1e300;

// Adds simulated over exact, with two standard errors.
void add_ratio(Curve& curve, double L, const Estimate& exact, const SampledMean& simulated) {
  if (!(exact.value > 0)) return;
  curve.add(L, simulated.value / exact.value);
  curve.low.push_back((simulated.value - 2 * simulated.standard_error) / exact.value);
  curve.high.push_back((simulated.value + 2 * simulated.standard_error) / exact.value);
}

// The error at one query as a function of the spread of the scores.
std::vector<Panel> error_panels(double L) {
  Panel panel{.title = fmt::format("L = {}", report::shown(L)),
              .x_label = "spread of the scores s",
              .y_label = "mean squared error, E[P₂]",
              .log_x = false};
  Curve mse{.label = "error along the query, E(A − s)²"},
      share{.label = "sum of squared weights, E[P₂]", .style = Curve::Style::dashed, .color = 1},
      bulk{.label = "exp(s²)/L, at most 1", .style = Curve::Style::dotted, .color = 7};
  for (int i = 0; i <= 48; ++i) {
    const double s = 0.05 + i / 8.0;
    const SoftmaxMoments m = softmax_moments(s, L);
    mse.add(s, m.mse.value);
    share.add(s, m.P2.value);
    bulk.add(s, bulk_P2(s, L));
  }
  panel.curves = {mse, share, bulk};
  return {panel};
}

report::ReportFigure error_figure(bool quick) {
  report::ReportFigure figure{
      "error-against-spread",
      {error_panels(1e4),
       "Attention over L Gaussian tokens whose scores have standard deviation s, exactly: the error of A = Σ "
       "pᵢgᵢ, the average of the standardised scores gᵢ with the softmax weights pᵢ, whose limit is s, and "
       "the sum of the squared weights beside what it is while no token dominates."},
      report::FigureSlider{.label = "L"}};
  for (int k = 1; k <= 12; k += quick ? 3 : 1) {
    figure.slider->values.push_back(std::pow(10.0, k));
    figure.slider->panels.push_back(error_panels(figure.slider->values.back()));
  }
  return figure;
}

// The averaged output error in d = 1 at every σ (outer) and L.
std::vector<double> averaged_errors(const std::vector<double>& sigmas, const std::vector<double>& lengths,
                                    const Execution& execution) {
  const Matrix one = Matrix::Identity(1, 1);
  const auto normal = std::make_shared<GaussianMeasure>(Vector::Zero(1), one);
  ConcentrationPlan plan;
  plan.sigmas = sigmas;
  plan.lengths = lengths;
  plan.exponents = plan.certified = false;
  std::vector<double> errors;
  for (const ConcentrationRow& row : concentration_grid({normal, one, one, normal}, plan, execution)) {
    errors.push_back(row.output.value / (row.sigma * row.sigma));  // undoes the scaling of the values
  }
  return errors;
}

// The error at one σ, with the asymptotic rate through the last point.
std::vector<Panel> averaged_panels(double sigma, const std::vector<double>& lengths,
                                   std::vector<double> errors) {
  const double c = averaged_exponent(sigma);
  Curve exact{.label = "exact error", .x = lengths, .y = std::move(errors)};
  const double first = lengths.front(), last = lengths.back();
  Curve rate{.label = fmt::format("slope −c(σ) = {}", report::shown(-c)),
             .x = {first, last},
             .y = {exact.y.back() * std::pow(last / first, c), exact.y.back()},
             .style = Curve::Style::dashed,
             .color = 7};
  return {{.title = fmt::format("σ = {}", report::shown(sigma)),
           .x_label = "prompt length L",
           .y_label = "averaged output error",
           .curves = {exact, rate}}};
}

report::ReportFigure averaged_figure(const ClaimOptions& options) {
  report::ReportFigure figure{
      "averaged-error",
      {{}, "The averaged error in d = 1 and its asymptotic rate, through the last point."},
      report::FigureSlider{.label = "σ"}};
  figure.slider->values =
      options.quick ? std::vector{0.5, 1.0, 2.0} : std::vector{0.5, 1.0, 1.5, 2.0, 2.5, 3.0};
  const std::vector<double> lengths = log_spaced_lengths(1, 1e12, options.quick ? 7 : 13);
  const std::vector<double> errors = averaged_errors(figure.slider->values, lengths, options.execution);
  auto next = errors.begin();
  for (const double sigma : figure.slider->values) {
    const auto end = next + static_cast<std::ptrdiff_t>(lengths.size());
    figure.slider->panels.push_back(averaged_panels(sigma, lengths, {next, end}));
    if (sigma == 1) figure.figure.panels = figure.slider->panels.back();
    next = end;
  }
  return figure;
}

}  // namespace

report::ReportSection exact_error_claim(const ClaimOptions& options) {
  estimation::ErrorSimulation settings;
  settings.seed = options.seed;
  settings.transposed = options.control != 0;
  if (options.full) settings.prompts = 200000;
  const std::vector<estimation::SimulatedErrors> rows =
      estimation::simulate_gaussian_errors(settings, options.execution);
  constexpr const char* kErrors[] = {"output", "gradient in V", "gradient in U"};
  Curve ratios[3];
  Curve one{.style = Curve::Style::dashed, .color = 7};
  report::ReportTable table{
      "Errors, exact and simulated, each L with a covariance, U, V and query of its own.",
      {"L", "s", "error of", "exact", "simulated", "standard error"}};
  double worst = 0;
  for (const estimation::SimulatedErrors& row : rows) {
    worst = larger(worst, row.worst_z_score());
    const auto L = static_cast<double>(row.length);
    const Estimate* exact[] = {&row.exact.output, &row.exact.gradient_V, &row.exact.gradient_U};
    const SampledMean* sampled[] = {&row.sampled.output, &row.sampled.gradient_V, &row.sampled.gradient_U};
    for (int k = 0; k < 3; ++k) {
      table.rows.push_back({row.length, row.exact.s, kErrors[k], exact[k]->value, sampled[k]->value,
                            sampled[k]->standard_error});
      add_ratio(ratios[k], L, *exact[k], *sampled[k]);
    }
    one.add(L, 1);
  }
  Figure figure{.caption = "Simulated over exact errors; bars are two standard errors."};
  for (int k = 0; k < 3; ++k) {
    ratios[k].style = Curve::Style::points;
    ratios[k].color = k;
    figure.panels.push_back({.title = kErrors[k],
                             .x_label = "prompt length L",
                             .y_label = "simulated / exact",
                             .log_y = false,
                             .curves = {ratios[k], one}});
  }
  report::ReportSection claim{
      .computed = fmt::format(
          "Random covariance, U, V and query in d = {} for each L: the exact value, and the "
          "average over {} simulated prompts. Tokens are centred: a mean adds the same number to all "
          "scores and Vm to all outputs.{}",
          settings.dimension, settings.prompts, chance_text(3 * rows.size()))};
  claim.numbers = {largest_distance("simulated and exact error", worst, 3 * rows.size())};
  claim.tables = {table};
  claim.figures = {{"exact-error", figure}, error_figure(options.quick)};
  return decided(std::move(claim));
}

report::ReportSection averaged_exponent_claim(const ClaimOptions& options) {
  report::ReportTable table{"Averaged errors at two lengths, the exponent between them, and its limit.",
                            {"σ", fmt::format("error at L = {}", report::shown(kFirstLength)),
                             fmt::format("at L = {}", report::shown(kSecondLength)), "exponent", "c(σ)"}};
  Panel curves{.x_label = "prompt length L", .y_label = "averaged output error"},
      exponents{.x_label = "σ", .y_label = "exponent", .log_x = false, .log_y = false};
  Curve measured{.label = "between 10¹⁵⁰ and 10³⁰⁰", .style = Curve::Style::points},
      sharp{.label = "c(σ)", .style = Curve::Style::dashed, .color = 7};
  const std::vector<double> sigmas = {0.5, 1, 1.5, 2};
  std::vector<double> lengths = log_spaced_lengths(1, kSecondLength, options.quick ? 5 : 9);
  lengths[lengths.size() / 2] = kFirstLength;
  const std::vector<double> errors = averaged_errors(sigmas, lengths, options.execution);
  double worst = 0;
  for (std::size_t i = 0; i < sigmas.size(); ++i) {
    const auto begin = errors.begin() + static_cast<std::ptrdiff_t>(i * lengths.size());
    const Curve curve{.label = fmt::format("σ = {:g}", sigmas[i]),
                      .x = lengths,
                      .y = {begin, begin + static_cast<std::ptrdiff_t>(lengths.size())},
                      .color = static_cast<int>(i)};
    const double first = curve.y[lengths.size() / 2], second = curve.y.back();
    const double exponent = std::log(first / second) / std::log(kSecondLength / kFirstLength);
    const double limit = options.control ? 1 : averaged_exponent(sigmas[i]);
    worst = larger(worst, std::abs(exponent - limit));
    table.rows.push_back({sigmas[i], first, second, exponent, limit});
    measured.add(sigmas[i], exponent);
    curves.curves.push_back(curve);
  }
  for (int i = 4; i <= 44; ++i) {
    sharp.add(i / 20.0, averaged_exponent(i / 20.0));
  }
  exponents.curves = {sharp, measured};
  report::ReportSection claim{
      .computed = fmt::format(
          "The exact averaged output error in d = 1 for {} values of σ at L = {} and {}, and minus "
          "the slope between them; so far out because it approaches c only logarithmically. This "
          "compares a heuristic with numbers; other dimensions are not computed here.",
          sigmas.size(), report::shown(kFirstLength), report::shown(kSecondLength))};
  claim.numbers = {{"largest difference of exponent and c(σ)", worst, kExponentBound}};
  claim.tables = {table};
  claim.figures = {
      {"averaged-exponent", {{curves, exponents}, "The averaged error over 300 decades, and its exponent."}}};
  if (!options.control) claim.figures.push_back(averaged_figure(options));
  return decided(std::move(claim));
}

}  // namespace largo::claims
