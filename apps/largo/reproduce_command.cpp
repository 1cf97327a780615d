// largo reproduce: the claims of the paper, each with numbers and a verdict.
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <fmt/core.h>

#include "claims.hpp"
#include "command.hpp"
#include "largo/io/atomic_file.hpp"
#include "largo/numerics/check.hpp"
#include "largo/version.hpp"
#include "output.hpp"
#include "progress.hpp"

namespace largo {
namespace {

struct ReproduceOptions : CommonOptions {
  bool quick = false;
  bool full = false;
  std::string out = "reproduce-out";
};

void write_report(const std::filesystem::path& file, const Json& report) {
  std::error_code error;
  std::filesystem::create_directories(file.parent_path(), error);
  if (error) {
    fail("reproduce", "--out", fmt::format("'{}'", file.parent_path().string()),
         "a folder that can be written");
  }
  AtomicFile target("reproduce", file);
  target.write(to_text(report, 2) + "\n");
  target.commit();
}

void run_reproduce(const ReproduceOptions& options) {
  if (options.quick && options.full) fail("reproduce", "give either --quick or --full");
  const ClaimOptions settings{options.seed, options.quick, options.full, options.execution()};
  constexpr Claim (*kClaims[])(const ClaimOptions&) = {
      lemma_claim,    exact_error_claim, other_laws_claim,      exponent_claim,
      audit_claim,    bounds_claim,      softmax_linear_claim,  infinite_limit_claim,
      transfer_claim, published_claim,   other_covariates_claim};
  Json report;
  report["version"] = kVersion;
  report["seed"] = options.seed;
  std::vector<Claim> claims;
  {
    ProgressLine line("claims");
    for (const auto& claim : kClaims) {
      claims.push_back(claim(settings));
      report["claims"].push_back(claims.back().json);
      line.show(static_cast<double>(claims.size()) / std::size(kClaims));
    }
  }
  check_numbers(report);
  const std::filesystem::path file = std::filesystem::path(options.out) / "report.json";
  if (first_process()) write_report(file, report);

  if (options.json) {
    print_json(report);
  } else {
    for (const Claim& claim : claims) claim.print(claim.json);
    fmt::print("The numbers are in {}\n", file.string());
  }
  for (const Json& claim : report["claims"]) {
    if (claim["verdict"] != "holds") throw CLI::RuntimeError(1);
  }
}

}  // namespace

void add_reproduce_command(CLI::App& app) {
  auto options = std::make_shared<ReproduceOptions>();
  CLI::App* command = app.add_subcommand(
      "reproduce", "Check the claims of the paper: the Lemma, exact errors, concentration, training");
  command->add_flag("--quick", options->quick, "shorter prompts, fewer starts");
  command->add_flag("--full", options->full,
                    "eight times as many prompts, and the published experiment in full (some ten minutes)");
  command->add_option("--out", options->out, "folder for the report")->capture_default_str();
  add_common_options(*command, *options);
  command->footer("Example: largo reproduce --quick --out results");
  command->callback([options] { run_reproduce(*options); });
}

}  // namespace largo
