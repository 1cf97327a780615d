// The claims about prompts and their limit: the Lemma, and laws that are not Gaussian.
#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

#include <fmt/core.h>

#include "claims.hpp"
#include "largo/attention/lemma.hpp"
#include "largo/sampling/simulated_errors.hpp"

namespace largo {
namespace {

// Thresholds of the verdicts.
constexpr double kLemmaBound = 1e-12;
constexpr double kSlopeLow = -1.2, kSlopeHigh = -0.8;
constexpr double kLargestZScore = 4;

}  // namespace

Claim lemma_claim(const ClaimOptions& options) {
  LemmaSettings settings;
  settings.seed = options.seed;
  if (options.quick) settings.lengths = {100, 1000, 10000};
  if (options.full) settings.prompts = 512;
  const LemmaReport lemma = check_lemma(settings, options.execution);
  Claim claim{
      .id = "lemma",
      .title = "Gaussian tokens make softmax attention linear",
      .source = "Lemma",
      .statement =
          "Softmax attention over an infinite prompt of Gaussian tokens N(m, Γ) is the affine map "
          "z ↦ V m + V Γ U z, and attention over finite prompts converges to it.",
      .formula = R"(T^{U,V}[\mathcal N(m,\Gamma)](z) = V m + V\,\Gamma\, U z)",
      .computed = fmt::format("{} random Gaussians (d up to 32, {} singular): closed form against the "
                              "defining integrals; then prompts of growing length in d = 4.",
                              lemma.cases, lemma.singular_cases)};
  claim.numbers = {{"largest relative difference", lemma.worst_error, kLemmaBound},
                   {"slope of the distance against L", lemma.slope},
                   {"its standard error", lemma.slope_error}};
  ClaimTable table{"", {"L", "E‖T[prompt] − T[law]‖²", "standard error"}};
  Curve sampled{.label = "prompts of L tokens", .style = Curve::Style::points},
      rate{.label = "1/L", .style = Curve::Style::dashed, .color = 7};
  for (const auto& at : lemma.distances) {
    const auto L = static_cast<double>(at.length);
    table.rows.push_back({at.length, at.mean_squared_distance, at.standard_error});
    sampled.x.push_back(L);
    sampled.y.push_back(at.mean_squared_distance);
    sampled.low.push_back(at.mean_squared_distance - 2 * at.standard_error);
    sampled.high.push_back(at.mean_squared_distance + 2 * at.standard_error);
    rate.x.push_back(L);
    rate.y.push_back(sampled.y.front() * sampled.x.front() / L);
  }
  claim.tables = {table};
  claim.figures = {
      {"lemma",
       {{{.x_label = "prompt length L", .y_label = "E‖T[prompt] − T[law]‖²", .curves = {sampled, rate}}},
        "Attention over L Gaussian tokens approaches its linear limit; bars are two standard errors."}}};
  decide(claim, lemma.slope >= kSlopeLow && lemma.slope <= kSlopeHigh,
         fmt::format("slope {:.3f}, between {} and {}", lemma.slope, kSlopeLow, kSlopeHigh));
  return claim;
}

Claim other_laws_claim(const ClaimOptions& options) {
  ErrorSimulation settings;
  settings.seed = options.seed;
  if (options.full) settings.prompts = 200000;
  settings.lengths = {10, 100, 1000};
  const std::vector<SimulatedLaw> rows = simulate_law_errors(settings, options.execution);
  Claim claim{
      .id = "other-laws",
      .title = "Tokens that are not Gaussian",
      .source = "ours",
      .statement =
          "Attention over prompts of other laws converges as well: its error is known without "
          "sampling wherever the law of the scores is, and sampled prompts agree with it.",
      .formula =
          R"(T^{U,V}[\mu](z) = V\,\nabla \log \mathbb E_{x\sim\mu}\, e^{\langle a, x\rangle}\big|_{a=Uz})",
      .computed = fmt::format("Tokens in d = {}, random U, V and query: the exact output error, and "
                              "the average over {} sampled prompts.",
                              settings.dimension, settings.prompts)};
  ClaimTable table{"", {"law", "L", "exact", "sampled", "95 % from", "to", "z"}};
  Panel panel{.x_label = "prompt length L", .y_label = "output error"};
  double worst = 0;
  std::size_t covered = 0;
  std::map<std::string, std::size_t> curves;  // of each law: the exact line, the points after it
  for (const SimulatedLaw& row : rows) {
    worst = std::max(worst, row.z_score());
    covered += row.sampled.low <= row.exact.value && row.exact.value <= row.sampled.high ? 1 : 0;
    table.rows.push_back({row.law, row.length, row.exact.value, row.sampled.value, row.sampled.low,
                          row.sampled.high, row.z_score()});
    const auto [place, fresh] = curves.try_emplace(row.law, panel.curves.size());
    if (fresh) {
      const int color = static_cast<int>(panel.curves.size() / 2);
      panel.curves.push_back({.label = row.law, .color = color});
      panel.curves.push_back({.style = Curve::Style::points, .color = color});
    }
    Curve &exact = panel.curves[place->second], &sampled = panel.curves[place->second + 1];
    for (Curve* curve : {&exact, &sampled}) curve->x.push_back(static_cast<double>(row.length));
    exact.y.push_back(row.exact.value);
    sampled.y.push_back(row.sampled.value);
    sampled.low.push_back(row.sampled.low);
    sampled.high.push_back(row.sampled.high);
  }
  claim.numbers = {{"largest distance, in standard errors", worst, kLargestZScore},
                   {"95 % intervals that cover the exact value", static_cast<double>(covered)},
                   {"of", static_cast<double>(rows.size())}};
  claim.tables = {table};
  claim.figures = {
      {"other-laws",
       {{panel}, "Output error for tokens of other laws: lines exact, points sampled with 95 % intervals."}}};
  decide(claim, true);
  return claim;
}

}  // namespace largo
