#include "report/study_report.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "report/study_figure.hpp"
#include "studies/study_json.hpp"

namespace largo::report {
namespace {

constexpr std::size_t kMostRows = 500;  // of a table; the CSV has all

ReportCell number_cell(double value) { return std::isnan(value) ? ReportCell() : ReportCell(value); }

// The values of the parameters that vary.
std::vector<ReportCell> varying_inputs(const StudyTable& table, const StudyRow& row) {
  std::vector<ReportCell> cells;
  for (const std::string& name : table.axes) {
    const auto at = std::find(table.parameters.begin(), table.parameters.end(), name);
    cells.emplace_back(row.inputs[static_cast<std::size_t>(at - table.parameters.begin())]);
  }
  return cells;
}

// Fills the section with the units that have such a text, and the text; nothing if there are none.
std::optional<ReportSection> said_of_units(const StudyTable& table, std::string StudyRow::*what,
                                           ReportSection section) {
  ReportTable units;
  units.columns = table.axes;
  units.columns.emplace_back("message");
  std::size_t count = 0;
  for (const StudyRow& row : table.rows) {
    if ((row.*what).empty() || ++count > kMostRows) continue;
    units.rows.push_back(varying_inputs(table, row));
    units.rows.back().emplace_back(row.*what);
  }
  if (count == 0) return std::nullopt;
  units.title = count > kMostRows ? fmt::format("The first {} of them", kMostRows) : "All of them";
  section.computed = fmt::format("{} of {} units of {}.", count, table.units, table.quantity);
  section.tables.push_back(std::move(units));
  return section;
}

std::optional<ReportSection> failures(const StudyTable& table) {
  return said_of_units(table, &StudyRow::message,
                       {.id = "failures",
                        .title = "Failed units",
                        .statement = "Units that have no results, and what was said about them."});
}

std::optional<ReportSection> warnings(const StudyTable& table) {
  return said_of_units(table, &StudyRow::warning,
                       {.id = "warnings",
                        .title = "Units with a warning",
                        .statement = "Sampled units whose errors may be too small, and why."});
}

// One result of a study as a section.
class ResultSection {
 public:
  ResultSection(const StudyTable& table, const std::vector<ReportLayout>& layouts, std::size_t result)
      : table_(table), layouts_(layouts), result_(result) {}

  ReportSection make() const {
    const std::string& name = table_.results[result_];
    ReportSection section{.id = name, .title = name};
    section.statement = layouts_.size() > 1 ? fmt::format("{} over {}.", name, fmt::join(table_.axes, ", "))
                                            : statement_of(table_, layouts_.front(), result_);
    section.computed =
        fmt::format("{} of {} units of {}{}.", table_.rows.size(), table_.units, table_.quantity, fixed());
    section.numbers = numbers();
    section.tables.push_back(rows());
    if (layouts_.front().x) section.figures.push_back(study_figure(table_, layouts_, result_));
    return section;
  }

 private:
  const StudyResult& of(const StudyRow& row) const { return row.results[result_]; }

  // The settings that are the same for all units.
  std::string fixed() const {
    std::string text;
    const io::Json configuration = io::Json::parse(table_.configuration);
    for (const auto& [key, value] : configuration.at("settings").items()) {
      const std::string said =
          value.is_boolean() ? io::to_text(value) : shown_value(studies::value_of(value));
      text += fmt::format("{}{} = {}", text.empty() ? ": " : ", ", key, said);
    }
    return text;
  }

  std::vector<ReportNumber> numbers() const {
    double least = HUGE_VAL, most = -HUGE_VAL;
    double failed = 0, warned = 0;
    for (const StudyRow& row : table_.rows) {
      failed += row.message.empty() ? 0 : 1;
      warned += row.warning.empty() ? 0 : 1;
      if (std::isnan(of(row).value)) continue;
      least = std::min(least, of(row).value);
      most = std::max(most, of(row).value);
    }
    std::vector<ReportNumber> list;
    if (least <= most) list = {{"smallest", least}, {"largest", most}};
    if (failed > 0) list.push_back({"failed units", failed});
    if (warned > 0) list.push_back({"units with a warning", warned});
    return list;
  }

  ReportTable rows() const {
    ReportTable table;
    table.title = table_.rows.size() > kMostRows
                      ? fmt::format("The first {} of {} units", kMostRows, table_.rows.size())
                      : "All units";
    table.columns = table_.axes;
    table.columns.push_back(table_.results[result_]);
    table.columns.emplace_back("error");
    for (const StudyRow& row : table_.rows) {
      if (table.rows.size() == kMostRows) break;
      std::vector<ReportCell> cells = varying_inputs(table_, row);
      cells.push_back(row.message.empty() ? number_cell(of(row).value) : ReportCell("failed"));
      cells.push_back(number_cell(of(row).error));
      table.rows.push_back(std::move(cells));
    }
    return table;
  }

  const StudyTable& table_;
  const std::vector<ReportLayout>& layouts_;
  std::size_t result_;
};

}  // namespace

Report study_report(const StudyTable& table, const std::string& command, const std::string& x) {
  Report report{.kind = "study", .title = table.title};
  report.intro =
      fmt::format("{} of {} units of the quantity {}.", table.rows.size(), table.units, table.quantity);
  report.version = table.version;
  report.command = command;
  report.seed = static_cast<std::uint64_t>(table.seed);
  const std::vector<ReportLayout> layouts = layouts_of(table, x);
  for (std::size_t i = 0; i < table.results.size(); ++i) {
    const bool any = std::any_of(table.rows.begin(), table.rows.end(),
                                 [&](const StudyRow& row) { return !std::isnan(row.results[i].value); });
    if (any) report.sections.push_back(ResultSection(table, layouts, i).make());
  }
  for (std::optional<ReportSection> section : {warnings(table), failures(table)}) {
    if (section) report.sections.push_back(std::move(*section));
  }
  for (ReportSection& section : report.sections) section.command = command;
  // A hash of all results, which is the same for equal results.
  report.about = {{"Content", table.content}};
  return report;
}

}  // namespace largo::report
