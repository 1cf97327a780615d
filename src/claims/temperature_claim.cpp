// The claim about the factors on scores at which attention over many tokens becomes attention to one.
#include <algorithm>
#include <cmath>
#include <memory>
#include <numbers>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "claims/claims.hpp"
#include "largo/exact/crowded_prompt.hpp"
#include "largo/exact/softmax_moments.hpp"
#include "largo/measures/empirical.hpp"

namespace largo::claims {
namespace {

// Thresholds of the verdict: a relative difference of exponents, of E[P₂] from its limit, and the effective
// tokens that are left far above the critical scale.
constexpr double kExponentDifference = 0.01;
constexpr double kMostDistance = 0.02;
constexpr double kFewTokens = 2;
constexpr double kFarAbove = 10;  // times the critical scale

double normal_P2(double log_L, double x) {
  return crowd_weights(normal_crowd(1), std::exp(log_L), x * std::sqrt(2 * log_L)).P2.value;
}

// The exponent of L in 1/E[P₂] along β = x √(2 ln L): its slope between 1e294 and 1e300. Where one rare token
// carries the weight there is a factor 1/√(ln L) beside the power, whose slope is taken off.
double normal_exponent(double x) {
  const double low = std::log(1e294), high = std::log(1e300);
  const double slope = std::log(normal_P2(low, x) / normal_P2(high, x)) / (high - low);
  return 3 * x * x > 1 && x < 1 ? slope - 1 / (low + high) : slope;
}

// Tokens on the sphere of R^d by the gap w = β - score of their scores β <q, z>: nodes in √w and weights of a
// quadrature up to `reach`, and all others at `reach`.
CrowdedPrompt tokens_near_query(double d, double log_beta, double reach) {
  constexpr double kNodes[][2] = {{0.06943184420297371, 0.17392742256872693},
                                  {0.33000947820757187, 0.32607257743127307},
                                  {0.66999052179242813, 0.32607257743127307},
                                  {0.93056815579702629, 0.17392742256872693}};
  const double a = (d - 1) / 2, end = std::sqrt(std::min(reach, 2 * std::exp(log_beta)));
  const double log_c = std::lgamma(d / 2) - std::lgamma(a) - std::log(std::numbers::pi) / 2 - a * log_beta;
  std::vector<double> scores, weights;
  double all = 0;
  for (double r = 0, width = 0; r < end; r += width) {
    width = std::min({0.2, 0.3 / std::max(r, 0.1), end - r});
    for (const auto& [at, share] : kNodes) {
      const double here = r + at * width, w = here * here;
      scores.push_back(-w);
      weights.push_back(
          2 * share * width *
          std::exp(log_c + (d - 2) * std::log(here) + (a - 1) * std::log(2 - w * std::exp(-log_beta))));
      all += weights.back();
    }
  }
  scores.push_back(-reach);
  weights.push_back(std::max(0.0, 1 - all));
  const auto count = std::ssize(scores);
  return {
      .crowd = std::make_shared<EmpiricalMeasure>(RowMatrix(Eigen::Map<const Vector>(scores.data(), count)),
                                                  Vector(Eigen::Map<const Vector>(weights.data(), count))),
      .direction = Vector::Ones(1)};
}

// Effective tokens among n on the sphere of R^d, at β = x n^(2γ/(d-1)).
double sphere_tokens(double d, double log_n, double gamma, double x) {
  const double log_beta = 2 * gamma / (d - 1) * log_n + std::log(x);
  // ρ w^a tokens are expected within a gap of w. The nearest one is nearer than 30 = ρ w^a but for a
  // probability e^-30, and tokens further off than ln n + 30 beyond do not count.
  const double log_rho = log_n + std::lgamma(d / 2) - std::lgamma((d + 1) / 2) -
                         std::log(4 * std::numbers::pi) / 2 + (d - 1) / 2 * (std::numbers::ln2 - log_beta);
  const double nearest = std::exp((std::log(30) - log_rho) * 2 / (d - 1));
  return crowd_weights(tokens_near_query(d, log_beta, nearest + log_n + 30), std::exp(log_n))
      .effective_tokens.value;
}

std::vector<Panel> temperature_panels(bool little) {
  Panel exponents{.title = "normal scores: exponent",
                  .x_label = "x = βs / √(2 ln L)",
                  .y_label = "−ln E[P₂] / ln L",
                  .log_x = false,
                  .log_y = false},
      entropies{.title = "normal scores: entropy",
                .x_label = "x = βs / √(2 ln L)",
                .y_label = "E[H] / ln L",
                .log_x = false,
                .log_y = false},
      spheres{
          .title = "sphere in d dimensions", .x_label = "β / critical scale", .y_label = "effective tokens"};
  const int count = little ? 9 : 31;
  int color = 0;
  for (const double L : {1e3, 1e6, 1e24, 1e300}) {
    const double log_L = std::log(L);
    Curve exponent{.label = fmt::format("L = {}", report::shown(L)), .color = color++}, entropy = exponent;
    for (int i = 0; i < count; ++i) {
      const double x = 1.5 * i / (count - 1);
      const CrowdWeights found = crowd_weights(normal_crowd(1), L, x * std::sqrt(2 * log_L));
      exponent.add(x, -std::log(found.P2.value) / log_L);
      entropy.add(x, found.entropy.value / log_L);
    }
    exponents.curves.push_back(std::move(exponent));
    entropies.curves.push_back(std::move(entropy));
  }
  Curve kappa{.label = "limit", .style = Curve::Style::dashed, .color = 7}, limit = kappa;
  for (int i = 0; i <= 60; ++i) {
    const double x = i / 40.0;
    kappa.add(x, concentration_exponent(x * condensation_line(1e6), 1e6));
    limit.add(x, std::max(0.0, 1 - x * x));
  }
  exponents.curves.push_back(std::move(kappa));
  entropies.curves.push_back(std::move(limit));
  for (const double d : little ? std::vector{8.0} : std::vector{5.0, 8.0}) {
    Curve tokens{.label = fmt::format("d = {:g}, n = {}", d, report::shown(1e30)), .color = color++};
    for (const double x : log_spaced(0.01, 5, little ? 4 : 10)) {
      tokens.add(x, sphere_tokens(d, std::log(1e30), 1, x));
    }
    spheres.curves.push_back(std::move(tokens));
  }
  return {exponents, entropies, spheres};
}

}  // namespace

report::ReportSection temperature_claim(const ClaimOptions& options) {
  const bool little = options.quick || options.control;
  report::ReportTable table{"Exponents with which the effective tokens grow with the number of tokens.",
                            {"scores", "scale", "computed", "claimed"}};
  double worst = 0, distance = 0, left = 0;
  const auto compare = [&](const char* scores, const std::string& scale, double found, double claimed) {
    table.rows.push_back({scores, scale, found, claimed});
    worst = larger(worst, std::abs(found / claimed - 1));
  };
  const std::vector<double> inside =
      little ? std::vector{0.5, 0.75} : std::vector{0.2, 0.35, 0.5, 0.65, 0.75, 0.85};
  for (const double x : inside) {
    const double line = condensation_line(1e300);
    compare("normal", fmt::format("x = {:g}", x), normal_exponent(x),
            concentration_exponent((options.control == 1 ? 1.05 : 1) * x * line, 1e300));
  }
  for (const double x : little ? std::vector{1.5} : std::vector{1.25, 1.5, 2.0, 4.0})
    distance = larger(distance,
                      std::abs(normal_P2(std::log(1e300), x) - (1 - 1 / (options.control == 2 ? x * x : x))));
  for (const double d : little ? std::vector{8.0} : std::vector{5.0, 8.0}) {
    const double low = std::log(1e28), high = std::log(1e30);
    for (const double gamma : {0.5, 0.8}) {
      const double slope =
          std::log(sphere_tokens(d, high, gamma, 1) / sphere_tokens(d, low, gamma, 1)) / (high - low);
      compare("sphere", fmt::format("d = {:g}, β = n^{{{:g} · 2/(d−1)}}", d, gamma), slope, 1 - gamma);
    }
    left = larger(left, sphere_tokens(d, high, 1, options.control == 3 ? 1 / kFarAbove : kFarAbove));
  }
  report::ReportSection claim{
      .computed = fmt::format(
          "Normal scores: the exponent is the slope of −ln E[P₂] in ln L between 10²⁹⁴ and 10³⁰⁰ tokens; "
          "from "
          "x = 1/√3 to 1, where E[P₂] has a factor 1/√(ln L) beside the power, the slope of that factor is "
          "taken off. Beyond x = 1, E[P₂] at 10³⁰⁰ tokens for x = {}; nearer to 1 it approaches "
          "its limit slowly. Spheres: the slope between 10²⁸ and 10³⁰ tokens, "
          "whose scores near the query are the nodes of a quadrature, and the effective tokens at {:g} times "
          "the critical scale.",
          little ? "1.5" : "1.25, 1.5, 2 and 4", kFarAbove)};
  claim.numbers = {{"largest relative difference of an exponent", worst, kExponentDifference},
                   {"largest distance of E[P₂] from 1 − 1/x, beyond x = 1", distance, kMostDistance},
                   {"most effective tokens far above the critical scale on a sphere", left, kFewTokens}};
  claim.tables = {table};
  claim.figures = {
      {"temperature",
       {temperature_panels(little),
        "Exact effective tokens and entropy over L normal scores scaled by β, and effective tokens "
        "over n tokens on a sphere. Dashed: the limit of long prompts."}}};
  return decided(std::move(claim));
}

}  // namespace largo::claims
