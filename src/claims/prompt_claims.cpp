// The claims about prompts and their limit: the Lemma, and laws that are not Gaussian.
#include <algorithm>
#include <cmath>
#include <map>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "claims/chance.hpp"
#include "claims/claims.hpp"
#include "estimation/simulated_errors.hpp"
#include "largo/attention/lemma.hpp"

namespace largo::claims {
namespace {

// Thresholds of the verdicts.
constexpr double kLemmaBound = 1e-12;
constexpr double kSampledSlopeBound = 0.2;  // six standard errors of the slope, 4.6 in a quick run

}  // namespace

report::ReportSection lemma_claim(const ClaimOptions& options) {
  LemmaSettings settings;
  settings.seed = options.seed;
  settings.exchanged = options.control == 1;
  settings.doubled = options.control == 2;
  if (options.quick || options.control) settings.lengths = {100, 1000, 10000};
  if (options.full) settings.prompts = 512;
  const LemmaReport lemma = check_lemma(settings, options.execution);
  report::ReportTable table{"Mean squared distance of attention over L tokens from its limit.",
                            {"L", "E‖T[prompt] − T[law]‖²", "standard error"}};
  Curve sampled{.label = "prompts of L tokens", .style = Curve::Style::points},
      rate{.label = "slope −1", .style = Curve::Style::dashed, .color = 7};
  for (const auto& at : lemma.distances) {
    const auto L = static_cast<double>(at.length);
    table.rows.push_back({at.length, at.mean_squared_distance, at.standard_error});
    sampled.add(L, at.mean_squared_distance);
    sampled.low.push_back(at.mean_squared_distance - 2 * at.standard_error);
    sampled.high.push_back(at.mean_squared_distance + 2 * at.standard_error);
    rate.add(L, sampled.y.front() * sampled.x.front() / L);
  }
  report::ReportSection claim{
      .computed = fmt::format(
          "{} random Gaussians in up to 32 dimensions ({} with a singular Γ), K and Q of 1 to d rows ({} "
          "times fewer than d), V and a query: closed forms against the integrals that define them, which "
          "are "
          "one-dimensional since scores are Gaussian, by the trapezoidal rule. Compared "
          "are attention, the covariance of ν, and its log-partition Λ_ν(b) = Λ(a + b) − Λ(a), a = KᵀQz, at "
          "three random b (as a function of all b it determines the law). Then {} prompts at each of some "
          "lengths in d = 4: "
          "their mean squared distance from the limit, and its slope, which must be −1, by least squares.",
          lemma.cases, lemma.singular_cases, lemma.low_rank_cases, settings.prompts)};
  claim.numbers = {
      {"largest relative difference of attention and its integrals", lemma.worst_error, kLemmaBound},
      {"the same for the covariance of ν", lemma.worst_covariance, kLemmaBound},
      {"the same for the log-partition of ν", lemma.worst_log_partition, kLemmaBound},
      {"|slope + 1| of the distance against L", std::abs(lemma.slope + 1), kSampledSlopeBound},
      {"slope", lemma.slope},
      {"its standard error", lemma.slope_error}};
  claim.tables = {table};
  claim.figures = {
      {"lemma",
       {{{.x_label = "prompt length L", .y_label = "E‖T[prompt] − T[law]‖²", .curves = {sampled, rate}}},
        "Attention over L Gaussian tokens approaches its affine limit; bars are two standard errors."}}};
  return decided(std::move(claim));
}

report::ReportSection other_laws_claim(const ClaimOptions& options) {
  estimation::ErrorSimulation settings;
  settings.seed = options.seed;
  settings.transposed = options.control != 0;
  if (options.full) settings.prompts = 200000;
  settings.lengths = {10, 100, 1000};
  if (options.quick || options.control) settings.lengths.pop_back();
  const std::vector<estimation::SimulatedLaw> rows =
      estimation::simulate_law_errors(settings, options.execution);
  report::ReportTable table{"Errors, exact and sampled; z is their distance in standard errors.",
                            {"law", "error of", "L", "exact", "sampled", "95 % from", "to", "z"}};
  const auto panel = [](const char* title, const char* y, bool log_y) {
    return Panel{.title = title, .x_label = "prompt length L", .y_label = y, .log_y = log_y};
  };
  std::map<std::string, Panel> errors = {{"output", panel("output", "error", true)},
                                         {"gradient in U", panel("gradient in U", "error", true)}};
  Panel beside = panel("sampled less exact", "difference in standard errors", false);
  double worst = 0;
  double missed = 0;
  std::map<std::pair<std::string, std::string>, std::size_t>
      curves;  // the exact line, which the points follow
  for (const estimation::SimulatedLaw& row : rows) {
    worst = larger(worst, row.z_score());
    missed += row.sampled.low <= row.exact.value && row.exact.value <= row.sampled.high ? 0 : 1;
    table.rows.push_back({row.law, row.error, row.length, row.exact.value, row.sampled.value, row.sampled.low,
                          row.sampled.high, row.z_score()});
    std::vector<Curve>& drawn = errors[row.error].curves;
    const auto [place, fresh] = curves.try_emplace({row.law, row.error}, drawn.size());
    const int color = static_cast<int>(place->second / 2);
    if (fresh) {
      drawn.push_back({.label = row.law, .color = color});
      drawn.push_back({.style = Curve::Style::points, .color = color});
      if (row.error == "output") beside.curves.push_back({.style = Curve::Style::points, .color = color});
    }
    Curve &exact = drawn[place->second], &sampled = drawn[place->second + 1];
    exact.add(static_cast<double>(row.length), row.exact.value);
    sampled.add(static_cast<double>(row.length), row.sampled.value);
    sampled.low.push_back(row.sampled.low);
    sampled.high.push_back(row.sampled.high);
    Curve& difference = beside.curves[place->second / 2];
    difference.add(static_cast<double>(row.length),
                   std::copysign(row.z_score(), row.sampled.value - row.exact.value));
  }
  const double most = z_limit(rows.size());
  for (const double limit : {-most, most}) {
    Curve line{.style = Curve::Style::dashed, .color = 7};
    for (const std::int64_t L : settings.lengths) {
      line.add(static_cast<double>(L), limit);
    }
    beside.curves.push_back(std::move(line));
  }
  report::ReportSection claim{
      .computed = fmt::format("Tokens of four laws in d = {}, random U, V and query: the exact errors of "
                              "the output and of the gradient in U, and averages over {} sampled prompts.{} "
                              "The limit on the number of intervals has the same chance, if intervals miss "
                              "independently of each other.",
                              settings.dimension, settings.prompts, chance_text(rows.size()))};
  claim.numbers = {{"largest distance of sampled and exact error, in standard errors", worst, most},
                   {fmt::format("95 % intervals, of {}, that miss the exact value", rows.size()), missed,
                    static_cast<double>(most_missed(rows.size()))}};
  claim.tables = {table};
  claim.figures = {
      {"other-laws",
       {{errors["output"], errors["gradient in U"], beside},
        "Errors for tokens of other laws: lines through exact values, filled marks sampled with 95 % "
        "intervals. Right: their differences for both errors; dashed are the limits of the verdict."}}};
  return decided(std::move(claim));
}

}  // namespace largo::claims
