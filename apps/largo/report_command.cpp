// largo report: the results of a study, as files.
#include <cstdio>
#include <filesystem>
#include <memory>
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
  std::string store, out, csv, x;
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

void run_report(ReportOptions options) {
  if (options.out.empty() && options.csv.empty() && !options.json) options.out = default_page(options.store);
  if (!options.out.empty() && !options.out.ends_with(".html")) {
    fail(kReportCommand, "--out", fmt::format("'{}'", options.out), "a .html file");
  }
  if (!options.x.empty() && options.out.empty())
    fail(kReportCommand, "--x is for the page: give --out as well");
  for (const auto& [option, file] : {std::pair("--csv", options.csv), std::pair("--out", options.out)}) {
    if (!file.empty() && same_file(file, options.store)) {
      fail(kReportCommand, option, fmt::format("'{}'", file), "another file than the store");
    }
  }
  check_not_source(options.csv);
  if (!options.csv.empty() && !options.out.empty() && same_file(options.csv, options.out)) {
    fail(kReportCommand, "--csv and --out name the same file");
  }
  check_output_files(kReportCommand, options.csv, "");
  check_output_files(kReportCommand, options.out, "");
  const Execution execution{.stop = stop_signal()};
  StudyExtent extent;
  if (first_process() && !options.csv.empty()) {
    io::AtomicFile file(kReportCommand, options.csv);
    extent = write_study_csv(
        options.store, [&](std::string_view text) { file.write(text); }, execution);
    file.commit();
  }
  if (first_process() && !options.out.empty()) {
    const StudyTable table = read_study_table(options.store);
    extent = {table.units, std::ssize(table.rows)};
    std::string command = fmt::format("largo report {}", options.store);
    if (!options.x.empty()) command += fmt::format(" --x {}", options.x);
    write_text(kReportCommand, options.out,
               report::report_page(report::study_report(table, command, options.x)));
  }
  if (options.json) return print_rows(options.store, execution);
  for (const std::string& file : {options.csv, options.out}) {
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
  auto options = std::make_shared<ReportOptions>();
  CLI::App* command = app.add_subcommand("report", "Write the results of a study to files");
  command->add_option("store", options->store, "Store of the study, a SQLite file")
      ->required()
      ->check(check_given, "");
  command
      ->add_option("--csv", options->csv,
                   "Write inputs and results to this CSV file, one row per unit in the study's order")
      ->check(check_given, "");
  command
      ->add_option("--out", options->out,
                   "Write a page with figures to this .html file (default: named after the store, if nothing "
                   "else is asked "
                   "for)")
      ->check(check_given, "");
  command
      ->add_option("--x", options->x,
                   "Parameter on the x axis of the figures (default: the first that varies and is a number)")
      ->check(check_given, "");
  add_common_options(*command, *options, {"--seed", "--threads", "--precision"});
  command->footer("Example: largo report errors.sqlite --out errors.html --csv errors.csv");
  command->callback([options] { run_report(*options); });
}

}  // namespace largo
