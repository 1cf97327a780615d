// largo report: the results of a study, as files.
#include <memory>
#include <string>

#include <fmt/core.h>

#include "arguments.hpp"
#include "command.hpp"
#include "largo/numerics/check.hpp"
#include "largo/studies/study_table.hpp"
#include "output.hpp"
#include "output_files.hpp"

namespace largo {
namespace {

constexpr const char* kName = "report";

struct ReportOptions {
  std::string store, csv, json;
};

void run_report(const ReportOptions& options) {
  // CONNECT: --out FILE.html is report_page(Json::parse(report_data(table, command))).
  if (options.csv.empty() && options.json.empty()) fail(kName, "give --csv or --json, or both");
  check_output_files(kName, options.csv, "");
  check_output_files(kName, options.json, "");
  if (options.csv == options.json) fail(kName, "--csv and --json are the same file");
  const StudyTable table = read_study_table(options.store);
  if (first_process() && !options.csv.empty()) write_text(kName, options.csv, to_csv(table));
  if (first_process() && !options.json.empty()) write_text(kName, options.json, to_json(table));
  const auto rows = static_cast<std::int64_t>(table.rows.size());
  for (const std::string& file : {options.csv, options.json}) {
    if (!file.empty()) fmt::print("{} {} in {}\n", rows, rows == 1 ? "unit" : "units", file);
  }
  if (rows < table.units) fmt::print("{} of {} units have not been run\n", table.units - rows, table.units);
}

}  // namespace

void add_report_command(CLI::App& app) {
  auto options = std::make_shared<ReportOptions>();
  CLI::App* command = app.add_subcommand("report", "The results of a study, as files");
  command->add_option("store", options->store, "the study's store, a SQLite file")
      ->required()
      ->check(check_given, "");
  command
      ->add_option("--csv", options->csv, "inputs and results, one row for each unit, in the study's order")
      ->check(check_given, "");
  command->add_option("--json", options->json, "the same as JSON, with the study's configuration")
      ->check(check_given, "");
  command->footer("Example: largo report errors.sqlite --csv errors.csv");
  command->callback([options] { run_report(*options); });
}

}  // namespace largo
