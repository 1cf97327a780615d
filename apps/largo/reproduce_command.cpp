// largo reproduce: the claims of the paper, each with numbers and a verdict.
#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "arguments.hpp"
#include "claims/claims.hpp"
#include "command.hpp"
#include "largo/runtime/check.hpp"
#include "largo/version.hpp"
#include "output.hpp"
#include "pdf.hpp"
#include "processes.hpp"
#include "progress.hpp"
#include "report/report.hpp"
#include "report_files.hpp"
#include "run_facts.hpp"

namespace largo {
namespace {

constexpr const char* kReproduceCommand = "reproduce";
struct ReproduceOptions : CommonOptions {
  bool quick = false;
  bool full = false;
  bool controls = false;
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

// Results of ours begin their source with that word.
bool is_ours(const report::ReportSection& claim) { return claim.source.starts_with("ours"); }

std::string introduction(const ReproduceOptions& options, const std::vector<report::ReportSection>& claims,
                         std::size_t held) {
  const auto ours = static_cast<std::size_t>(std::count_if(claims.begin(), claims.end(), is_ours));
  std::string intro = fmt::format(
      "{} of {} {}. Statements of E. Boursier and C. Boyer, Softmax as Linear Attention in the Large-Prompt "
      "Regime: a Measure-based Perspective (arXiv 2512.11784), or of the lecture notes on it: {}. Results "
      "of ours: {}.{} Each section names its source, says what was computed, in which scope, and how the "
      "verdict came about. A verdict is about what was computed, and proves nothing beyond that. The "
      "negative control of a claim says what makes it fail.",
      held, claims.size(), claims.size() == 1 ? "claim holds" : "claims hold", claims.size() - ours, ours,
      options.quick  ? " This was a quick run, with fewer and shorter prompts."
      : options.full ? " This was a full run."
                     : "");
  intro +=
      "\n\nT[μ](z) is softmax attention over a prompt μ at the query z, with U = KᵀQ in the scores and "
      "values V; μ is the law of the tokens, an infinite prompt, and μ̂ with index L is a prompt of L tokens "
      "drawn from it. Errors are squared distances of the two. In training, A and b are the blocks of U and "
      "V that matter for in-context linear regression, R is its risk and Σ the covariance of its covariates.";
  return intro;
}

std::string cell_text(const report::ReportCell& cell) {
  if (const double* number = std::get_if<double>(&cell.value)) return report::shown(*number, 6);
  const std::string* text = std::get_if<std::string>(&cell.value);
  return text != nullptr ? *text : "";
}

// The width in columns: continuation bytes of UTF-8 take none.
std::size_t shown_width(const std::string& text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

void print_row(const std::vector<std::string>& cells, const std::vector<std::size_t>& widths) {
  std::string line = " ";
  for (std::size_t i = 0; i < cells.size(); ++i) {
    line += ' ';
    line.append(widths[i] - shown_width(cells[i]), ' ');
    line += cells[i];
  }
  fmt::print("{}\n", line);
}

void print_table(const report::ReportTable& table) {
  std::vector<std::vector<std::string>> texts{table.columns};
  for (const auto& row : table.rows) {
    texts.emplace_back();
    for (const report::ReportCell& cell : row) texts.back().push_back(cell_text(cell));
  }
  std::vector<std::size_t> widths(table.columns.size(), 0);
  for (const auto& row : texts) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], shown_width(row[i]) + 1);
  }
  fmt::print("  {}\n", table.title);
  for (const auto& row : texts) print_row(row, widths);
}

void print(const report::ReportSection& claim) {
  fmt::print("{} ({}): {}\n  {}\n", claim.title, claim.source, claim.statement, claim.computed);
  for (const report::ReportNumber& number : claim.numbers) {
    fmt::print("  {}: {}{}\n", number.label, report::shown(number.value, 4),
               number.limit ? fmt::format(" (tolerance {})", report::shown(*number.limit)) : "");
  }
  for (const report::ReportTable& table : claim.tables) print_table(table);
  fmt::print("  verdict: {}{}\n\n", name_of(*claim.verdict),
             claim.reason.empty() ? "" : fmt::format(" ({})", claim.reason));
}

bool wanted(const ReproduceOptions& options, const std::string& id) {
  return options.only.empty() ||
         std::find(options.only.begin(), options.only.end(), id) != options.only.end();
}

// The sections of the claims that were asked for.
std::vector<report::ReportSection> checked_claims(const ReproduceOptions& options,
                                                  const claims::ClaimOptions& settings) {
  ProgressLine line(settings.control ? "controls" : "claims");
  const auto count =
      std::count_if(claims::all_claims().begin(), claims::all_claims().end(),
                    [&](const claims::NamedClaim& claim) { return wanted(options, claim.id); });
  std::vector<report::ReportSection> claims;
  for (const claims::NamedClaim& claim : claims::all_claims()) {
    if (!wanted(options, claim.id)) continue;
    claims.push_back(claim.check(settings));
    claims.back().command = command_line(options, {claim.id});
    line.show(static_cast<double>(claims.size()) / static_cast<double>(count));
  }
  return claims;
}

// Each claim with something made wrong on purpose: its verdict has to notice.
void run_controls(const ReproduceOptions& options, claims::ClaimOptions settings) {
  settings.control = true;
  io::Json json{{"controls", io::Json::array()}};
  std::size_t noticed = 0, count = 0;
  for (const report::ReportSection& claim : checked_claims(options, settings)) {
    ++count;
    const bool fails = claim.verdict == report::Verdict::fails;
    noticed += fails ? 1 : 0;
    json["controls"].push_back({{"id", claim.id},
                                {"control", claim.control},
                                {"verdict", name_of(*claim.verdict)},
                                {"reason", claim.reason}});
    if (options.json) continue;
    fmt::print("{}: {}\n  {} ({})\n", claim.id, claim.control, fails ? "fails, as expected" : "DOES NOT FAIL",
               claim.reason);
  }
  if (options.json) {
    print_json(json);
  } else {
    fmt::print("{} of {} negative controls fail, as they must\n", noticed, count);
  }
  if (noticed != count) throw CLI::RuntimeError(1);
}

void run_reproduce(const ReproduceOptions& options) {
  if (options.quick && options.full) fail(kReproduceCommand, "give either --quick or --full");
  if (options.device != "cpu" && !wanted(options, claims::kPublishedClaim)) {
    fail(kReproduceCommand, "--device", options.device,
         fmt::format("cpu for these claims; a GPU trains for --only {}", claims::kPublishedClaim));
  }
  claims::ClaimOptions settings{options.seed, options.quick, options.full, options.execution()};
  std::swap(settings.device, settings.execution.device);  // the other claims draw few prompts
  if (options.controls) return run_controls(options, settings);
  const io::Json run = run_facts(options);  // records when the run began
  const std::filesystem::path folder = options.out;
  if (first_process()) check_report_folder(kReproduceCommand, folder);
  const std::vector<report::ReportSection> claims = checked_claims(options, settings);
  std::vector<std::string> only;  // each once, in our order
  for (const report::ReportSection& claim : claims) only.push_back(claim.id);
  const auto held = static_cast<std::size_t>(std::count_if(
      claims.begin(), claims.end(),
      [](const report::ReportSection& claim) { return claim.verdict == report::Verdict::holds; }));
  const report::Report report{.kind = "reproduce",
                              .title = "The large-prompt limit of softmax attention",
                              .intro = introduction(options, claims, held),
                              .version = kVersion,
                              .command = command_line(options, options.only.empty() ? options.only : only),
                              .seed = options.seed,
                              .sections = claims};
  io::Json json{{"version", report.version}, {"seed", report.seed}, {"command", report.command}};
  for (const report::ReportSection& claim : claims) json["claims"].push_back(report::to_json(claim));
  io::check_numbers(json);
  const std::string page = (folder / "report.html").string();
  if (first_process()) {
    write_report(kReproduceCommand, folder, claims, {json, run, report::report_page(report, run)});
  }
  if (options.json) {
    print_json(json);
  } else {
    for (const report::ReportSection& claim : claims) print(claim);
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
  command->add_flag(
      "--quick", options->quick,
      "Check all claims with less work: shorter prompts, fewer starts and lengths (some seconds)");
  command->add_flag(
      "--full", options->full,
      "Use more prompts and starts, and the published experiment in full (about twenty minutes; one minute "
      "with --device cuda)");
  command->add_flag("--controls", options->controls,
                    "Make one thing wrong in each claim on purpose, and check that its verdict notices; "
                    "writes no report");
  command->add_option("--out", options->out, "Folder for the report")->capture_default_str();
  std::vector<std::string> ids;
  for (const claims::NamedClaim& claim : claims::all_claims()) ids.emplace_back(claim.id);
  command->add_option("--only", options->only, "Check only these claims, by name")
      ->delimiter(',')
      ->check(one_of(ids));
  add_device_option(*command, options->device);
  add_common_options(*command, *options, {"--precision"});
  command->footer("Example: largo reproduce --quick --out results");
  command->callback([options] { run_reproduce(*options); });
}

}  // namespace largo
