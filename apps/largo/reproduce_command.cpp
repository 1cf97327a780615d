// largo reproduce: the claims of the paper, each with numbers and a verdict.
#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "claims.hpp"
#include "command.hpp"
#include "figure_data.hpp"
#include "largo/io/atomic_file.hpp"
#include "largo/numerics/check.hpp"
#include "largo/version.hpp"
#include "output.hpp"
#include "output_files.hpp"
#include "pdf.hpp"
#include "processes.hpp"
#include "progress.hpp"
#include "report_page.hpp"

namespace largo {
namespace {

constexpr const char* kName = "reproduce";

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
               {"published", published_claim},
               {"other-covariates", other_covariates_claim}};

struct ReproduceOptions : CommonOptions {
  bool quick = false;
  bool full = false;
  std::string out = "reproduce-out";
  std::vector<std::string> only;
};

void make_folder(const std::filesystem::path& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) fail(kName, "--out", fmt::format("'{}'", folder.string()), "a folder that can be written");
}

// Before the work: can the folder be made, and files in it?
void check_folder(const std::filesystem::path& folder) {
  make_folder(folder);
  AtomicFile(kName, folder / "report.json");
}

void write_figures(const std::filesystem::path& folder, const std::vector<Claim>& claims) {
  make_folder(folder);
  for (const Claim& claim : claims) {
    for (const ClaimFigure& figure : claim.figures) {
      const std::string base = (folder / figure.id).string(), svg = to_svg(figure.figure);
      write_text(kName, base + ".svg", svg);
      write_text(kName, base + ".pdf", to_pdf(svg));
      write_text(kName, base + ".csv", to_csv(figure.figure));
    }
  }
}

std::string command_line(const ReproduceOptions& options) {
  std::string line = "largo reproduce";
  if (options.quick) line += " --quick";
  if (options.full) line += " --full";
  if (!options.only.empty()) line += fmt::format(" --only {}", fmt::join(options.only, ","));
  if (options.seed != 1) line += fmt::format(" --seed {}", options.seed);
  return line;
}

Json page_data(const ReproduceOptions& options, const Json& report, std::size_t held) {
  return {{"kind", "reproduce"},
          {"title", "The large-prompt limit of softmax attention"},
          {"intro",
           fmt::format(
               "Every claim of the paper, and results beyond it, computed anew: {} of {} hold. Each section "
               "says what is claimed, what was computed, and how the verdict came about.",
               held, report["claims"].size())},
          {"version", report["version"]},
          {"command", command_line(options)},
          {"seed", report["seed"]},
          {"sections", report["claims"]}};
}

void run_reproduce(const ReproduceOptions& options) {
  if (options.quick && options.full) fail(kName, "give either --quick or --full");
  const std::filesystem::path folder = options.out;
  if (first_process()) check_folder(folder);
  const ClaimOptions settings{options.seed, options.quick, options.full, options.execution()};
  std::vector<Claim> claims;
  {
    ProgressLine line("claims");
    const std::size_t count = options.only.empty() ? std::size(kClaims) : options.only.size();
    for (const auto& [id, check] : kClaims) {
      if (!options.only.empty() &&
          std::find(options.only.begin(), options.only.end(), id) == options.only.end()) {
        continue;
      }
      claims.push_back(check(settings));
      line.show(static_cast<double>(claims.size()) / static_cast<double>(count));
    }
  }
  Json report;
  report["version"] = kVersion;
  report["seed"] = options.seed;
  for (const Claim& claim : claims) report["claims"].push_back(to_json(claim));
  check_numbers(report);
  const auto held = static_cast<std::size_t>(std::count_if(
      claims.begin(), claims.end(), [](const Claim& claim) { return claim.verdict == Verdict::holds; }));
  const std::string page = (folder / "report.html").string();
  if (first_process()) {
    write_figures(folder / "figures", claims);
    write_text(kName, (folder / "report.json").string(), to_text(report, 1) + "\n");
    write_text(kName, page, report_page(page_data(options, report, held)));
  }
  if (options.json) {
    print_json(report);
  } else {
    for (const Claim& claim : claims) print(claim);
    fmt::print("{} of {} claims hold. Report: {} (figures and data beside it)\n", held, claims.size(), page);
  }
  if (held != claims.size()) throw CLI::RuntimeError(1);
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
  std::vector<std::string> ids;
  for (const auto& claim : kClaims) ids.emplace_back(claim.id);
  command->add_option("--only", options->only, "some of the claims, by name")
      ->delimiter(',')
      ->check(CLI::IsMember(ids));
  add_common_options(*command, *options);
  command->footer("Example: largo reproduce --quick --out results");
  command->callback([options] { run_reproduce(*options); });
}

}  // namespace largo
