// largo report: the results of a study, as files.
#include <cstdio>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/core.h>

#include "arguments.hpp"
#include "command.hpp"
#include "io/files.hpp"
#include "largo/runtime/check.hpp"
#include "largo/studies/study_table.hpp"
#include "output.hpp"
#include "output_files.hpp"
#include "processes.hpp"
#include "report/report.hpp"
#include "report/study_report.hpp"
#include "signals.hpp"

namespace largo {
namespace {

constexpr const char* kReportCommand = "report";

struct ReportOptions : CommonOptions {
  std::string store, x;
  OutputFiles outputs;
};

// The page goes beside the store, under its name.
std::string default_page(const std::string& store) {
  return std::filesystem::path(store).replace_extension(".html").string();
}

void print_rows(const std::string& store, const Execution& execution) {
  const auto print = [](std::string_view text) {
    if (std::fwrite(text.data(), 1, text.size(), stdout) == text.size()) return;
    throw std::runtime_error("standard output could not be written");
  };
  try {
    write_study_json(store, print, execution);
    print("\n");
  } catch (const Stopped&) {
    throw StoppedCommand("stopped; the output is not complete");
  }
}

// The store does not say where its study is. A name like that of a study, or of another store, is probably a
// slip that would cost the file.
void check_not_source(const std::string& csv) {
  for (const char* ending : {".toml", ".sqlite"}) {
    if (csv.ends_with(ending)) {
      fail(kReportCommand, "--csv", fmt::format("'{}'", csv),
           fmt::format("no {} file: a table is no study", ending));
    }
  }
}

void run_report(const ReportOptions& options) {
  OutputFiles outputs = options.outputs;
  std::string &csv = outputs.csv, &page = outputs.page;
  if (page.empty() && csv.empty() && !options.json) page = default_page(options.store);
  if (!options.x.empty() && page.empty()) fail(kReportCommand, "--x is for the page: give --out as well");
  outputs.check(kReportCommand, {.files = {options.store}});
  check_not_source(csv);
  const Execution execution{.stop = stop_signal()};
  StudyExtent extent;
  if (first_process() && !csv.empty()) {
    io::AtomicFile file(kReportCommand, csv);
    extent = write_study_csv(
        options.store, [&](std::string_view text) { file.write(text); }, execution);
    file.commit();
  }
  if (first_process() && !page.empty()) {
    const StudyTable table = read_study_table(options.store);
    extent = {table.units, std::ssize(table.rows)};
    std::string command = fmt::format("largo report {}", options.store);
    if (!options.x.empty()) command += fmt::format(" --x {}", options.x);
    write_text(kReportCommand, page, report::report_page(report::study_report(table, command, options.x)));
  }
  if (options.json) return print_rows(options.store, execution);
  for (const std::string& file : {csv, page}) {
    if (!file.empty()) fmt::print("{} {} in {}\n", extent.rows, extent.rows == 1 ? "unit" : "units", file);
  }
  if (extent.rows < extent.units) {
    fmt::print("{} of {} units have not been run\n", extent.units - extent.rows, extent.units);
  }
  if (const std::int64_t failed = study_status(options.store).failed; failed > 0) {
    fmt::print("{} of {} units failed: largo status {} says why\n", failed, extent.units, options.store);
  }
}

}  // namespace

void add_report_command(CLI::App& app) {
  const auto [command, options] =
      add_subcommand(app, "report", run_report, "Write the results of a study to files");
  add_text_option(*command, "store", options->store, "Store of the study, a SQLite file")->required();
  options->outputs.add_csv_option(*command, "inputs and results, one row per unit in the study's order,");
  options->outputs.add_page_option(*command, "a page with figures");
  add_text_option(*command, "--x", options->x,
                  "Parameter on the x axis of the figures (default: the first that varies and is a number)");
  add_common_options(*command, *options, {"--seed", "--threads", "--precision"});
  command->footer(
      "Without --csv, --out and --json the page is written beside the store, under its name.\n\n"
      "Example: largo report errors.sqlite --out errors.html --csv errors.csv");
}

}  // namespace largo
