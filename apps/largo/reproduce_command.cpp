// largo reproduce: the claims of the paper, each with numbers and a verdict.
#include <algorithm>
#include <filesystem>
#include <set>
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
      "negative controls of a claim say what makes it fail. docs/report.md lists the other statements of "
      "the abstract, its summaries and the lecture notes. The full text of the paper was not gone through.",
      held, claims.size(), claims.size() == 1 ? "claim holds" : "claims hold", claims.size() - ours, ours,
      options.quick  ? " This was a quick run, with fewer and shorter prompts."
      : options.full ? " This was a full run."
                     : "");
  intro +=
      "\n\nT[μ](z) is softmax attention over a prompt μ at the query z, with U = KᵀQ in the scores and "
      "values V; μ is the law of the tokens, an infinite prompt, and μ̂ with index L is a prompt of L tokens "
      "drawn from it. Errors are mean squared distances of the two. In training, A and b are the blocks of U "
      "and "
      "V that matter for in-context linear regression, R is its risk and Σ the covariance of its covariates.";
  intro +=
      "\n\nIn in-context regression a task w ~ N(0, I) is drawn, then tokens (x, wᵀx + noise) with x ~ N(0, "
      "Σ), "
      "and a query (x_q, 0). Given w a token is N(0, Γ_w), Γ_w = [[Σ, Σw], [wᵀΣ, wᵀΣw + τ²]]. The prediction "
      "of wᵀx_q is the last coordinate of T, and R_L = ½ E(T[μ̂_L](x_q, 0)_{d+1} − wᵀx_q)². By the Lemma "
      "R_∞ = ½ E(vᵀΓ_w U(x_q, 0) − wᵀx_q)², with v the last row of V (no claim computes this equality by "
      "itself). "
      "Claims say where the laws differ.";
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

std::vector<claims::NamedClaim> wanted_claims(const ReproduceOptions& options) {
  std::vector<claims::NamedClaim> all;
  for (const claims::NamedClaim& claim : claims::all_claims())
    if (wanted(options, claim.id)) all.push_back(claim);
  return all;
}

// The sections of the claims that were asked for.
std::vector<report::ReportSection> checked_claims(const ReproduceOptions& options,
                                                  const claims::ClaimOptions& settings) {
  ProgressLine line("claims");
  const std::vector<claims::NamedClaim> asked = wanted_claims(options);
  std::vector<report::ReportSection> checked;
  for (const claims::NamedClaim& claim : asked) {
    checked.push_back(claim.check(settings));
    checked.back().command = command_line(options, {claim.id});
    line.show(static_cast<double>(checked.size()) / static_cast<double>(asked.size()));
  }
  return checked;
}

// A claim with one thing made wrong on purpose.
struct CheckedControl {
  std::string text;
  report::ReportSection section;

  bool fails() const { return section.verdict == report::Verdict::fails; }
};

std::vector<CheckedControl> checked_controls(const claims::NamedClaim& claim, claims::ClaimOptions settings) {
  std::vector<CheckedControl> controls;
  for (int k = 1; k <= claim.control.count; ++k) {
    settings.control = k;
    controls.push_back({claim.control.text(k), claim.check(settings)});
  }
  return controls;
}

// The conditions of a claim that hold in all of its controls.
std::vector<std::string> never_violated(const std::vector<CheckedControl>& controls) {
  std::vector<std::string> kept;
  std::set<std::string> violated;
  for (const CheckedControl& control : controls)
    for (const report::ReportCondition& one : control.section.conditions)
      if (!one.holds) violated.insert(one.what);
  for (const CheckedControl& control : controls) {
    for (const report::ReportCondition& one : control.section.conditions) {
      const bool is_new = std::find(kept.begin(), kept.end(), one.what) == kept.end();
      if (is_new && !violated.contains(one.what)) kept.push_back(one.what);
    }
  }
  return kept;
}

io::Json to_json(const std::string& id, const CheckedControl& control) {
  io::Json json{{"id", id},
                {"control", control.text},
                {"verdict", name_of(*control.section.verdict)},
                {"reason", control.section.reason},
                {"violates", io::Json::array()}};
  for (const report::ReportCondition& one : control.section.conditions)
    if (!one.holds) json["violates"].push_back(one.what);
  return json;
}

// Each claim with something made wrong on purpose: its verdict has to notice.
void run_controls(const ReproduceOptions& options, const claims::ClaimOptions& settings) {
  io::Json json{{"controls", io::Json::array()}, {"never_violated", io::Json::array()}};
  std::size_t noticed = 0, count = 0;
  const std::vector<claims::NamedClaim> asked = wanted_claims(options);
  std::vector<std::vector<CheckedControl>> checked;
  {
    ProgressLine line("controls");
    for (const claims::NamedClaim& claim : asked) {
      checked.push_back(checked_controls(claim, settings));
      line.show(static_cast<double>(checked.size()) / static_cast<double>(asked.size()));
    }
  }
  for (std::size_t i = 0; i < asked.size(); ++i) {
    const claims::NamedClaim& claim = asked[i];
    for (const CheckedControl& control : checked[i]) {
      ++count;
      noticed += control.fails() ? 1 : 0;
      json["controls"].push_back(to_json(claim.id, control));
      if (options.json) continue;
      fmt::print("{}: {}\n  {} ({})\n", claim.id, control.text,
                 control.fails() ? "fails, as expected" : "DOES NOT FAIL", control.section.reason);
    }
    for (const std::string& what : never_violated(checked[i])) {
      json["never_violated"].push_back({{"id", claim.id}, {"condition", what}});
      if (!options.json) fmt::print("{}: no control violates: {}\n", claim.id, what);
    }
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
  const auto [command, options] =
      add_subcommand(app, "reproduce", run_reproduce,
                     "Check the claims of the paper: the Lemma, exact errors, concentration, training");
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
}

}  // namespace largo
