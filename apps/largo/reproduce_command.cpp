// largo reproduce: the claims of the paper that this version can check, each with a verdict.
#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <fmt/core.h>

#include "command.hpp"
#include "largo/attention/lemma.hpp"
#include "largo/exact/simulated_errors.hpp"
#include "largo/io/atomic_file.hpp"
#include "largo/numerics/check.hpp"
#include "largo/version.hpp"
#include "output.hpp"

namespace largo {
namespace {

// Thresholds of the verdicts, printed with them.
constexpr double kLemmaBound = 1e-12;
constexpr double kSlopeLow = -1.2;
constexpr double kSlopeHigh = -0.8;
constexpr double kLargestZScore = 4;

struct ReproduceOptions : CommonOptions {
  bool quick = false;
  bool full = false;
  std::string out = "reproduce-out";
};

Json lemma_claim(const LemmaReport& lemma) {
  Json claim;
  claim["id"] = "lemma";
  claim["statement"] =
      "Softmax attention over an infinite prompt of Gaussian tokens N(m, G) is the affine map z -> V m + V G "
      "U z, "
      "and attention over finite prompts converges to it.";
  claim["computed"] = fmt::format(
      "{} random Gaussians (d up to 32, {} singular): closed form against the defining integrals; then "
      "prompts of growing length in d = 4.",
      lemma.cases, lemma.singular_cases);
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
  claim["verdict"] = holds ? "holds" : "fails";
  return claim;
}

Json exact_error_claim(const std::vector<SimulatedErrors>& rows, const ErrorSimulation& settings) {
  Json claim;
  claim["id"] = "exact-error";
  claim["statement"] =
      "For Gaussian tokens the mean squared distance of attention over L tokens from its limit, and that of "
      "its "
      "gradients in V and U, are known in closed form up to one-dimensional integrals, for every L.";
  claim["computed"] = fmt::format(
      "Random covariance, U, V and query in d = {} for each L: the exact value, and the average over {} "
      "simulated prompts.",
      settings.dimension, settings.prompts);
  auto pair = [](const Estimate& exact, const Estimate& simulated) {
    return Json{{"exact", exact.value}, {"simulated", simulated.value}, {"standard_error", simulated.error}};
  };
  double worst = 0;
  for (const SimulatedErrors& row : rows) {
    worst = std::max(worst, row.worst_z_score());
    claim["rows"].push_back({{"L", row.length},
                             {"s", row.exact.s},
                             {"output", pair(row.exact.output, row.output)},
                             {"gradient_V", pair(row.exact.gradient_V, row.gradient_V)},
                             {"gradient_U", pair(row.exact.gradient_U, row.gradient_U)}});
  }
  claim["worst_z_score"] = worst;
  claim["worst_z_score_bound"] = kLargestZScore;
  claim["verdict"] = worst <= kLargestZScore ? "holds" : "fails";
  return claim;
}

void print_exact_error(const Json& claim) {
  fmt::print("\nExact error: {}\n  {}\n", claim["statement"].get<std::string>(),
             claim["computed"].get<std::string>());
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
  fmt::print("  largest distance {:.2f} standard errors (bound {})\n  verdict: {}\n",
             claim["worst_z_score"].get<double>(), kLargestZScore, claim["verdict"].get<std::string>());
}

void print_lemma(const Json& claim) {
  fmt::print("Lemma: {}\n  {}\n", claim["statement"].get<std::string>(),
             claim["computed"].get<std::string>());
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
  fmt::print("  verdict: {}\n", claim["verdict"].get<std::string>());
}

void run_reproduce(const ReproduceOptions& options) {
  if (options.quick && options.full) fail("reproduce", "give either --quick or --full");
  LemmaSettings settings;
  settings.seed = options.seed;
  if (options.quick) settings.lengths = {100, 1000, 10000};
  if (options.full) settings.prompts = 512;

  ErrorSimulation simulation;
  simulation.seed = options.seed;
  if (options.full) simulation.prompts = 200000;

  const LemmaReport lemma = check_lemma(settings, options.execution());
  Json report;
  report["version"] = kVersion;
  report["seed"] = options.seed;
  report["claims"].push_back(lemma_claim(lemma));
  report["claims"].push_back(
      exact_error_claim(simulate_gaussian_errors(simulation, options.execution()), simulation));
  report["note"] =
      "This version checks the Lemma and the exact error formulas. The other claims of the paper come with "
      "the "
      "parts of largo they need.";

  check_numbers(report);
  std::error_code error;
  std::filesystem::create_directories(options.out, error);
  if (error) fail("reproduce", "--out", fmt::format("'{}'", options.out), "a folder that can be written");
  const std::filesystem::path file = std::filesystem::path(options.out) / "report.json";
  AtomicFile target("reproduce", file);
  target.write(to_text(report, 2) + "\n");
  target.commit();

  if (options.json) {
    print_json(report);
  } else {
    print_lemma(report["claims"][0]);
    print_exact_error(report["claims"][1]);
    fmt::print("\n{}\nThe numbers are in {}\n", report["note"].get<std::string>(), file.string());
  }
  for (const Json& claim : report["claims"]) {
    if (claim["verdict"] != "holds") throw CLI::RuntimeError(1);
  }
}

}  // namespace

void add_reproduce_command(CLI::App& app) {
  auto options = std::make_shared<ReproduceOptions>();
  CLI::App* command = app.add_subcommand(
      "reproduce", "Check the claims of the paper (in this version: the Lemma and the exact error)");
  command->add_flag("--quick", options->quick, "shorter prompts only");
  command->add_flag("--full", options->full, "eight times as many prompts");
  command->add_option("--out", options->out, "folder for the report")->capture_default_str();
  add_common_options(*command, *options);
  command->footer("Example: largo reproduce --quick --out results");
  command->callback([options] { run_reproduce(*options); });
}

}  // namespace largo
