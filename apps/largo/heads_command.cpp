// largo heads: an audit of the captured heads of a real model.
#include <cmath>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include <fmt/core.h>

#include "arguments.hpp"
#include "command.hpp"
#include "heads_report.hpp"
#include "io/parse_numbers.hpp"
#include "largo/heads/audit.hpp"
#include "largo/heads/verdict.hpp"
#include "largo/runtime/check.hpp"
#include "output.hpp"
#include "output_files.hpp"
#include "progress.hpp"
#include "report/heads_page.hpp"
#include "run_facts.hpp"

namespace largo {
namespace {

constexpr const char* kHeadsCommand = "heads";
constexpr std::uint64_t kMostTokens = std::uint64_t{1} << 53;

struct HeadsOptions : CommonOptions {
  std::string file, scale = "auto", sinks = "auto", queries, layers, heads;
  OutputFiles outputs;
  std::int64_t recent = 0;
  double tolerance = kDefaultTolerance;
  bool causal = false, curves = false, dry_run = false;
};

std::vector<std::int64_t> whole_numbers(const char* option, const std::string& text) {
  std::vector<std::int64_t> result;
  for (const double value : io::parse_numbers(option, text)) {
    if (value != std::floor(value) || std::abs(value) > 1e15)
      fail(kHeadsCommand, option, value, "a whole number");
    result.push_back(static_cast<std::int64_t>(value));
  }
  return result;
}

AuditOptions read_options(const HeadsOptions& options) {
  AuditOptions audit;
  audit.visibility = options.causal ? Visibility::causal : Visibility::all;
  if (options.scale != "auto") audit.scale = io::parse_number("--scale", options.scale);
  if (options.sinks == "none") {
    audit.sinks.positions.emplace();
  } else if (options.sinks != "auto") {
    audit.sinks.positions = whole_numbers("--sinks", options.sinks);
  }
  audit.recent = options.recent;
  audit.tolerance = options.tolerance;
  if (options.queries == "all") {
    audit.queries = 0;
  } else if (!options.queries.empty()) {
    const std::vector<std::int64_t> number = whole_numbers("--queries", options.queries);
    if (number.size() != 1 || number[0] < 1)
      fail(kHeadsCommand, "--queries", options.queries, "a whole number, at least 1, or all");
    audit.queries = number[0];
  }
  return audit;
}

Capture read_capture(const HeadsOptions& options) {
  const Capture capture = Capture::open(options.file);
  if (options.layers.empty() && options.heads.empty()) return capture;
  const auto numbers = [](const char* option, const std::string& text) {
    return text.empty() ? std::vector<std::int64_t>{} : whole_numbers(option, text);
  };
  return capture.selected(numbers("--layers", options.layers), numbers("--heads", options.heads));
}

// What would be done, and how much of it.
void describe(const Capture& capture, const AuditOptions& options, bool json) {
  double pairs = 0, products = 0, queries = 0;
  for (const CapturedHead& head : capture.heads()) {
    const auto rows = static_cast<double>(head.queries.rows);
    const double audited = options.queries == 0 ? rows : std::min(rows, static_cast<double>(options.queries));
    const double seen = static_cast<double>(head.keys.rows) * audited;
    queries += audited;
    pairs += seen;
    products += seen * static_cast<double>(head.keys.columns + 2 * head.values.columns);
  }
  const CapturedHead& first = capture.heads().front();
  if (json) {
    io::Json shown = {{"heads_to_audit", capture.heads().size()}, {"tokens", first.keys.rows},
                      {"head_dim", first.keys.columns},           {"queries", io::number_json(queries)},
                      {"scores", io::number_json(pairs)},         {"products", io::number_json(products)}};
    return print_json(shown);
  }
  fmt::print(
      "{} heads, of {} tokens and head_dim {} (the first one): {} queries, {:.3g} scores, {:.3g} products\n",
      capture.heads().size(), first.keys.rows, first.keys.columns, queries, pairs, products);
}

// The command that makes the same page again.
std::string command_line(const HeadsOptions& options) {
  std::string line = fmt::format("largo heads {}", options.file);
  if (options.causal) line += " --causal";
  for (const auto& [name, value, usual] : {std::tuple("--scale", options.scale, "auto"),
                                           {"--sinks", options.sinks, "auto"},
                                           {"--queries", options.queries, ""},
                                           {"--layers", options.layers, ""},
                                           {"--heads", options.heads, ""}}) {
    if (value != usual) line += fmt::format(" {} {}", name, value);
  }
  if (options.recent != 0) line += fmt::format(" --recent {}", options.recent);
  if (options.tolerance != kDefaultTolerance) line += fmt::format(" --tolerance {}", options.tolerance);
  return line + fmt::format(" --out {}", options.outputs.page);
}

void run_heads(const HeadsOptions& options) {
  AuditOptions audit_options = read_options(options);
  options.outputs.check(kHeadsCommand, {.files = {options.file}});
  const Capture capture = read_capture(options);
  if (options.dry_run) return describe(capture, audit_options, options.json);
  const io::Json run = options.outputs.page.empty() ? io::Json(nullptr) : run_facts(options);
  std::vector<HeadAudit> audits;
  {
    ProgressLine line("heads");
    audit_options.progress = [&line](double share) { line.show(share); };
    audits = audit(capture, audit_options, options.execution());
  }
  const io::Json json = to_json(audits, options.curves ? Curves::with : Curves::without);
  io::check_numbers(json);
  options.outputs.write(kHeadsCommand, [&] { return to_csv(audits); });
  if (first_process() && !options.outputs.page.empty()) {
    const report::Report page = report::heads_page(audits, options.tolerance, command_line(options));
    write_text(kHeadsCommand, options.outputs.page, report::report_page(page, run));
  }
  if (options.json) return print_json(json);
  print_table(audits);
  options.outputs.print();
}

}  // namespace

void add_heads_command(CLI::App& app) {
  const auto [command, options] = add_subcommand(
      app, "heads", run_heads,
      "Audit captured heads of a real model: which of them are averages, affine, sinks, retrieval");
  add_text_option(*command, "FILE", options->file,
                  "Capture: .safetensors with layers.N.q, layers.N.k, layers.N.v of shape (heads, tokens, "
                  "head_dim)")
      ->required();
  command->add_flag("--causal", options->causal, "Each query sees the keys up to its own position");
  add_text_option(*command, "--scale", options->scale, "Factor on the scores; auto is 1/sqrt(head_dim)")
      ->capture_default_str();
  add_text_option(*command, "--sinks", options->sinks,
                  fmt::format("Positions of sinks, such as 0,-1 (from the end), at most {}; none; or auto: "
                              "those of much weight",
                              kMostSinks))
      ->capture_default_str();
  command
      ->add_option("--recent", options->recent,
                   "Keys less than this far from the query's position are recent; 0 means none")
      ->transform(whole_number(0, kMostTokens))
      ->capture_default_str();
  add_text_option(
      *command, "--queries", options->queries,
      fmt::format("Queries audited in each head, evenly spaced; or all (default: {})", kDefaultAuditQueries));
  command->add_option("--tolerance", options->tolerance, "Relative error that counts as small, up to 1")
      ->transform(finite_number(Sign::positive))
      ->capture_default_str();
  add_text_option(*command, "--layers", options->layers,
                  "Only these layers, such as 0,5; others are not read");
  add_text_option(*command, "--heads", options->heads, "Only heads of these numbers; others are not read");
  command->add_flag("--curves", options->curves,
                    "With --json, the errors at every length and the histogram of the scores, too");
  options->outputs.add_csv_option(*command, "all numbers, one row per head,");
  options->outputs.add_page_option(*command, "a page with all heads");
  command->add_flag("--dry-run", options->dry_run, "Print what would be computed, and stop");
  add_common_options(*command, *options, {"--seed", "--precision"});
  command->footer(fmt::format(
      "Statistics are medians over queries. Errors are sums of squares over queries, divided by that of the\n"
      "outputs. Lengths are the tokens, drawn from the prompt, from which on the error is at most the\n"
      "tolerance: measured for the captured tokens, and predicted from the spread of the scores alone.\n"
      "kind is the first that applies: averaging (error of the mean value at most the tolerance), affine\n"
      "(error of the affine limit), sink (weight of the sinks at least {}, or at least {} and the error "
      "with\n"
      "exact sinks at most the tolerance), local (weight of keys less than {} tokens away at least {}),\n"
      "retrieval (largest weight at least {}), mixed. docs/heads.md has the definitions.\n\n"
      "Examples:\n"
      "  largo heads capture.safetensors --causal\n"
      "  largo heads capture.safetensors --sinks 0,-1 --csv heads.csv --out heads.html",
      kSinkMass, kSinkShare, kLocalWindow, kLocalMass, kRetrievalWeight));
}

}  // namespace largo
