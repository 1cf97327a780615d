// The claims about prompts and their limit: the Lemma, the exact errors, other laws, the averaged exponent.
#include <algorithm>
#include <cmath>
#include <vector>

#include <fmt/core.h>

#include "claims.hpp"
#include "largo/attention/lemma.hpp"
#include "largo/exact/asymptotics.hpp"
#include "largo/exact/query_average.hpp"
#include "largo/sampling/simulated_errors.hpp"

namespace largo {
namespace {

// Thresholds of the verdicts, printed with them.
constexpr double kLemmaBound = 1e-12;
constexpr double kSlopeLow = -1.2;
constexpr double kSlopeHigh = -0.8;
constexpr double kLargestZScore = 4;
constexpr double kExponentBound = 0.005;
// Where the slope of the averaged error is measured: its approach to the exponent is logarithmic.
constexpr double kFirstLength = 1e150;
constexpr double kSecondLength = 1e300;

Json lemma_json(const LemmaReport& lemma) {
  Json claim = new_claim("lemma",
                         "Softmax attention over an infinite prompt of Gaussian tokens N(m, G) is the affine "
                         "map z -> V m + V G U z, and attention over finite prompts converges to it.",
                         fmt::format("{} random Gaussians (d up to 32, {} singular): closed form against the "
                                     "defining integrals; then prompts of growing length in d = 4.",
                                     lemma.cases, lemma.singular_cases));
  claim["worst_error"] = lemma.worst_error;
  claim["worst_error_bound"] = kLemmaBound;
  for (const auto& at : lemma.distances) {
    claim["distances"].push_back({{"L", at.length},
                                  {"mean_squared_distance", at.mean_squared_distance},
                                  {"standard_error", at.standard_error}});
  }
  claim["slope"] = {{"value", lemma.slope}, {"error", lemma.slope_error}};
  claim["slope_range"] = {kSlopeLow, kSlopeHigh};
  const bool holds =
      lemma.worst_error <= kLemmaBound && lemma.slope >= kSlopeLow && lemma.slope <= kSlopeHigh;
  return with_verdict(claim, holds);
}

void print_lemma(const Json& claim) {
  print_head("Lemma", claim);
  fmt::print("  largest relative difference {:.1e} (bound {:.0e})\n", claim["worst_error"].get<double>(),
             claim["worst_error_bound"].get<double>());
  fmt::print("  {:>8}  {:>22}  {:>14}\n", "L", "E|T[prompt]-T[law]|^2", "standard error");
  for (const Json& at : claim["distances"]) {
    fmt::print("  {:>8}  {:>22.4e}  {:>14.1e}\n", at["L"].get<std::int64_t>(),
               at["mean_squared_distance"].get<double>(), at["standard_error"].get<double>());
  }
  fmt::print("  slope {:.3f} ± {:.3f} (expected -1, between {} and {})\n",
             claim["slope"]["value"].get<double>(), claim["slope"]["error"].get<double>(), kSlopeLow,
             kSlopeHigh);
  print_verdict(claim);
}

// Sampled numbers may be so far from exact ones, in standard errors.
Json with_z_score(Json claim, double worst) {
  claim["worst_z_score"] = worst;
  claim["worst_z_score_bound"] = kLargestZScore;
  return with_verdict(claim, worst <= kLargestZScore);
}

Json exact_error_json(const std::vector<SimulatedErrors>& rows, const ErrorSimulation& settings) {
  Json claim = new_claim(
      "exact-error",
      "For Gaussian tokens the mean squared distance of attention over L tokens from its limit, and that of "
      "its gradients in V and U, are known in closed form up to one-dimensional integrals, for every L.",
      fmt::format("Random covariance, U, V and query in d = {} for each L: the exact value, and the average "
                  "over {} simulated prompts.",
                  settings.dimension, settings.prompts));
  auto pair = [](const Estimate& exact, const SampledMean& simulated) {
    return Json{{"exact", exact.value},
                {"simulated", simulated.value},
                {"standard_error", simulated.standard_error},
                {"interval", {simulated.low, simulated.high}}};
  };
  double worst = 0;
  for (const SimulatedErrors& row : rows) {
    worst = std::max(worst, row.worst_z_score());
    claim["rows"].push_back({{"L", row.length},
                             {"s", row.exact.s},
                             {"output", pair(row.exact.output, row.sampled.output)},
                             {"gradient_V", pair(row.exact.gradient_V, row.sampled.gradient_V)},
                             {"gradient_U", pair(row.exact.gradient_U, row.sampled.gradient_U)}});
  }
  return with_z_score(claim, worst);
}

void print_exact_error(const Json& claim) {
  print_head("Exact error", claim);
  fmt::print("  {:>6} {:>7}   {:>30}   {:>30}   {:>30}\n", "L", "s", "output: exact, simulated",
             "gradient in V", "gradient in U");
  for (const Json& row : claim["rows"]) {
    fmt::print("  {:>6} {:>7.3f}", row["L"].get<std::int64_t>(), row["s"].get<double>());
    for (const char* what : {"output", "gradient_V", "gradient_U"}) {
      fmt::print("   {:>10.4e} {:>10.4e} ±{:.0e}", row[what]["exact"].get<double>(),
                 row[what]["simulated"].get<double>(), row[what]["standard_error"].get<double>());
    }
    fmt::print("\n");
  }
  fmt::print("  largest distance {:.2f} standard errors (bound {})\n", claim["worst_z_score"].get<double>(),
             kLargestZScore);
  print_verdict(claim);
}

Json other_laws_json(const std::vector<SimulatedLaw>& rows, const ErrorSimulation& settings) {
  Json claim = new_claim("other-laws",
                         "Attention over prompts of other laws converges as well: its error is known without "
                         "sampling wherever the law of the scores is, and sampled prompts agree with it.",
                         fmt::format("Tokens in d = {}, random U, V and query: the exact output error, and "
                                     "the average over {} sampled prompts.",
                                     settings.dimension, settings.prompts));
  double worst = 0;
  std::size_t covered = 0;
  for (const SimulatedLaw& row : rows) {
    worst = std::max(worst, row.z_score());
    covered += row.sampled.low <= row.exact.value && row.exact.value <= row.sampled.high ? 1 : 0;
    claim["rows"].push_back({{"law", row.law},
                             {"L", row.length},
                             {"exact", row.exact.value},
                             {"sampled", row.sampled.value},
                             {"standard_error", row.sampled.standard_error},
                             {"interval", {row.sampled.low, row.sampled.high}},
                             {"z_score", row.z_score()}});
  }
  claim["intervals_that_cover"] = covered;
  return with_z_score(claim, worst);
}

void print_other_laws(const Json& claim) {
  print_head("Other laws", claim);
  fmt::print("  {:<22} {:>6} {:>12} {:>12}   {:>25} {:>7}\n", "law", "L", "exact", "sampled", "95 % interval",
             "z");
  for (const Json& row : claim["rows"]) {
    fmt::print("  {:<22} {:>6} {:>12.4e} {:>12.4e}   {:>12.4e} {:>12.4e} {:>7.2f}\n",
               row["law"].get<std::string>(), row["L"].get<std::int64_t>(), row["exact"].get<double>(),
               row["sampled"].get<double>(), row["interval"][0].get<double>(),
               row["interval"][1].get<double>(), row["z_score"].get<double>());
  }
  fmt::print(
      "  {} of {} intervals cover the exact value; largest distance {:.2f} standard errors (bound {})\n",
      claim["intervals_that_cover"].get<std::size_t>(), claim["rows"].size(),
      claim["worst_z_score"].get<double>(), kLargestZScore);
  print_verdict(claim);
}

Json exponent_json() {
  Json claim = new_claim(
      "averaged-exponent",
      "Averaged over standard Gaussian queries, the error of attention over L Gaussian tokens falls like "
      "L^-c up to logarithms, with c = 1 for sigma^2 <= 1/2 and (sqrt(1 + 4/sigma^2) - 1)/2 beyond, sigma "
      "the largest spread of the scores over unit queries: the exponent of order 1/sigma^2 of the paper, "
      "made sharp.",
      fmt::format(
          "The exact averaged output error in d = 1 at L = {:.0e} and {:.0e}, and the slope between them.",
          kFirstLength, kSecondLength));
  const Matrix one = Matrix::Identity(1, 1);
  double worst = 0;
  for (const double sigma : {0.5, 1.0, 1.5, 2.0}) {
    auto error = [&](double L) {
      return averaged_attention_error(one, sigma * one, one, Vector::Zero(1), one, L).output.value;
    };
    const double first = error(kFirstLength);
    const double second = error(kSecondLength);
    const double slope = std::log(first / second) / std::log(kSecondLength / kFirstLength);
    const double exponent = averaged_exponent(sigma);
    worst = std::max(worst, std::abs(slope - exponent));
    claim["rows"].push_back(
        {{"sigma", sigma}, {"errors", {first, second}}, {"slope", slope}, {"exponent", exponent}});
  }
  claim["worst_difference"] = worst;
  claim["worst_difference_bound"] = kExponentBound;
  return with_verdict(claim, worst <= kExponentBound);
}

void print_exponent(const Json& claim) {
  print_head("Exponent", claim);
  fmt::print("  {:>6} {:>15} {:>15} {:>8} {:>8}\n", "sigma", fmt::format("L = {:.0e}", kFirstLength),
             fmt::format("L = {:.0e}", kSecondLength), "slope", "c(sigma)");
  for (const Json& row : claim["rows"]) {
    fmt::print("  {:>6} {:>15.6e} {:>15.6e} {:>8.4f} {:>8.4f}\n", row["sigma"].get<double>(),
               row["errors"][0].get<double>(), row["errors"][1].get<double>(), row["slope"].get<double>(),
               row["exponent"].get<double>());
  }
  fmt::print("  largest difference {:.4f} (bound {})\n", claim["worst_difference"].get<double>(),
             kExponentBound);
  print_verdict(claim);
}

ErrorSimulation simulation(const ClaimOptions& options) {
  ErrorSimulation settings;
  settings.seed = options.seed;
  if (options.full) settings.prompts = 200000;
  return settings;
}

}  // namespace

Claim lemma_claim(const ClaimOptions& options) {
  LemmaSettings settings;
  settings.seed = options.seed;
  if (options.quick) settings.lengths = {100, 1000, 10000};
  if (options.full) settings.prompts = 512;
  return {lemma_json(check_lemma(settings, options.execution)), print_lemma};
}

Claim exact_error_claim(const ClaimOptions& options) {
  const ErrorSimulation settings = simulation(options);
  return {exact_error_json(simulate_gaussian_errors(settings, options.execution), settings),
          print_exact_error};
}

Claim other_laws_claim(const ClaimOptions& options) {
  ErrorSimulation settings = simulation(options);
  settings.lengths = {10, 100, 1000};
  return {other_laws_json(simulate_law_errors(settings, options.execution), settings), print_other_laws};
}

Claim exponent_claim(const ClaimOptions&) { return {exponent_json(), print_exponent}; }

}  // namespace largo
