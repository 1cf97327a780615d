// largo reproduce: the claims of the paper, each with numbers and a verdict.
#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "arguments.hpp"
#include "claims.hpp"
#include "command.hpp"
#include "largo/runtime/check.hpp"
#include "largo/version.hpp"
#include "output.hpp"
#include "pdf.hpp"
#include "processes.hpp"
#include "progress.hpp"
#include "report_files.hpp"
#include "report_page.hpp"
#include "run_facts.hpp"

namespace largo {
namespace {

constexpr const char* kName = "reproduce";
constexpr const char* kTrainedClaim = "published";

constexpr struct {
  const char* id;
  Claim (*check)(const ClaimOptions&);
} kClaims[] = {{"lemma", lemma_claim},
               {"exact-error", exact_error_claim},
               {"other-laws", other_laws_claim},
               {"averaged-exponent", exponent_claim},
               {"audit", audit_claim},
               {"bounds", bounds_claim},
               {"softmax-linear", softmax_linear_claim},
               {"infinite-limit", infinite_limit_claim},
               {"transfer", transfer_claim},
               {"threshold", threshold_claim},
               {"risk-ratio", risk_ratio_claim},
               {"slow-limit", slow_limit_claim},
               {kTrainedClaim, published_claim},
               {"other-covariates", other_covariates_claim}};

struct ReproduceOptions : CommonOptions {
  bool quick = false;
  bool full = false;
  std::string out = "reproduce-out";
  std::vector<std::string> only;
};

std::string command_line(const ReproduceOptions& options, const std::vector<std::string>& only) {
  std::string line = "largo reproduce";
  if (options.quick) line += " --quick";
  if (options.full) line += " --full";
  if (!only.empty()) line += fmt::format(" --only {}", fmt::join(only, ","));
  if (options.seed != 1) line += fmt::format(" --seed {}", options.seed);
  return line;
}

Json page_data(const ReproduceOptions& options, const Json& report, std::size_t held) {
  const std::size_t count = report["claims"].size();
  std::string intro = fmt::format(
      "{} of E. Boursier and C. Boyer, Softmax as Linear Attention in the Large-Prompt Regime: a "
      "Measure-based "
      "Perspective (arXiv 2512.11784), and results beyond {}, computed anew: {} of {} {}.{} Each section "
      "says "
      "what is claimed, what was computed, and how the verdict came about.",
      options.only.empty() ? "Every claim" : "Some claims", options.only.empty() ? "it" : "the paper", held,
      count, held == 1 ? "holds" : "hold",
      options.quick  ? " This was a quick run, with fewer and shorter prompts."
      : options.full ? " This was a full run."
                     : "");
  intro +=
      "\n\nT[μ](z) is softmax attention over a prompt μ at the query z, with U = KᵀQ in the scores and "
      "values V; "
      "μ is the law of the tokens, an infinite prompt, and μ̂ with index L is a prompt of L tokens drawn from "
      "it. "
      "Errors are squared distances of the two. In training, A and b are the blocks of U and V that matter "
      "for "
      "in-context linear regression, R is its risk and Σ the covariance of its covariates.";
  return {{"kind", "reproduce"},          {"title", "The large-prompt limit of softmax attention"},
          {"intro", std::move(intro)},    {"version", report["version"]},
          {"command", report["command"]}, {"seed", report["seed"]},
          {"sections", report["claims"]}};
}

void run_reproduce(const ReproduceOptions& options) {
  if (options.quick && options.full) fail(kName, "give either --quick or --full");
  const auto wanted = [&](const std::string& id) {
    return options.only.empty() ||
           std::find(options.only.begin(), options.only.end(), id) != options.only.end();
  };
  if (options.device != "cpu" && !wanted(kTrainedClaim)) {
    fail(kName, "--device", options.device,
         fmt::format("cpu for these claims; a GPU trains for --only {}", kTrainedClaim));
  }
  ClaimOptions settings{options.seed, options.quick, options.full, options.execution()};
  std::swap(settings.device, settings.execution.device);  // other claims draw few prompts
  const Json run = run_facts(options);                    // the time of the beginning
  const std::filesystem::path folder = options.out;
  if (first_process()) check_report_folder(kName, folder);
  std::vector<Claim> claims;
  {
    ProgressLine line("claims");
    const auto count = std::count_if(std::begin(kClaims), std::end(kClaims),
                                     [&](const auto& claim) { return wanted(claim.id); });
    for (const auto& claim : kClaims) {
      if (!wanted(claim.id)) continue;
      claims.push_back(claim.check(settings));
      line.show(static_cast<double>(claims.size()) / static_cast<double>(count));
    }
  }
  Json report;
  report["version"] = kVersion;
  report["seed"] = options.seed;
  std::vector<std::string> only;  // each once, in our order
  for (const Claim& claim : claims) only.push_back(claim.id);
  report["command"] = command_line(options, options.only.empty() ? options.only : only);
  for (const Claim& claim : claims) {
    report["claims"].push_back(to_json(claim));
    report["claims"].back()["command"] = command_line(options, {claim.id});
  }
  check_numbers(report);
  const auto held = static_cast<std::size_t>(std::count_if(
      claims.begin(), claims.end(), [](const Claim& claim) { return claim.verdict == Verdict::holds; }));
  const std::string page = (folder / "report.html").string();
  if (first_process()) {
    write_report(kName, folder, claims, {report, run, report_page(page_data(options, report, held), run)});
  }
  if (options.json) {
    print_json(report);
  } else {
    for (const Claim& claim : claims) print(claim);
    fmt::print("{} of {} {}. Report: {} (figures and data beside it)\n", held, claims.size(),
               claims.size() > 1 ? "claims hold" : "claim holds", page);
    if (!has_fonts())
      fmt::print("There is no PDF of the figures: this machine has no fonts to set text in.\n");
  }
  if (held != claims.size()) throw CLI::RuntimeError(1);
}

}  // namespace

void add_reproduce_command(CLI::App& app) {
  auto options = std::make_shared<ReproduceOptions>();
  CLI::App* command = app.add_subcommand(
      "reproduce", "Check the claims of the paper: the Lemma, exact errors, concentration, training");
  command->add_flag("--quick", options->quick,
                    "all claims with less: shorter prompts, fewer starts and lengths (some seconds)");
  command->add_flag(
      "--full", options->full,
      "more prompts and starts, and the published experiment in full (some twenty minutes; with --device "
      "cuda a minute)");
  command->add_option("--out", options->out, "folder for the report")->capture_default_str();
  std::vector<std::string> ids;
  for (const auto& claim : kClaims) ids.emplace_back(claim.id);
  command->add_option("--only", options->only, "some of the claims, by name")
      ->delimiter(',')
      ->check(one_of(ids));
  add_device_option(*command, options->device);
  add_common_options(*command, *options, {"--precision"});
  command->footer("Example: largo reproduce --quick --out results");
  command->callback([options] { run_reproduce(*options); });
}

}  // namespace largo
