// The data of a study's report page: for each result a figure and a table.
#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "largo/studies/study_table.hpp"
#include "report/study_figure.hpp"
#include "report/study_report.hpp"
#include "studies/study_json.hpp"

namespace largo {
namespace {

constexpr std::size_t kMostRows = 500;  // of a table; all are in the CSV

// Those of the parameters that vary.
StudyJson varying_inputs(const StudyTable& table, const StudyRow& row) {
  StudyJson cells = StudyJson::array();
  for (const std::string& name : table.axes) {
    const auto at = std::find(table.parameters.begin(), table.parameters.end(), name);
    cells.push_back(value_json(row.inputs[static_cast<std::size_t>(at - table.parameters.begin())]));
  }
  return cells;
}

// Units about which something was said: which, and what. Null where there are none.
StudyJson said_of_units(const StudyTable& table, const std::string& command, std::string StudyRow::*what,
                        StudyJson section) {
  StudyJson columns = table.axes, rows = StudyJson::array();
  columns.push_back("message");
  std::size_t count = 0;
  for (const StudyRow& row : table.rows) {
    if ((row.*what).empty() || ++count > kMostRows) continue;
    rows.push_back(varying_inputs(table, row));
    rows.back().push_back(row.*what);
  }
  if (count == 0) return nullptr;
  const std::string title =
      count > kMostRows ? fmt::format("The first {} of them", kMostRows) : "All of them";
  section["computed"] = fmt::format("{} of {} units of {}.", count, table.units, table.quantity);
  section["numbers"] = StudyJson::array();
  section["tables"] = StudyJson::array({{{"title", title}, {"columns", columns}, {"rows", rows}}});
  section["figures"] = StudyJson::array();
  section["command"] = command;
  return section;
}

StudyJson failures(const StudyTable& table, const std::string& command) {
  return said_of_units(table, command, &StudyRow::message,
                       {{"id", "failures"},
                        {"title", "Failed units"},
                        {"statement", "Units that have no results, and what was said about them."}});
}

StudyJson warnings(const StudyTable& table, const std::string& command) {
  return said_of_units(table, command, &StudyRow::warning,
                       {{"id", "warnings"},
                        {"title", "Units with a warning"},
                        {"statement", "Sampled units whose errors may be too small, and why."}});
}

class Section {
 public:
  Section(const StudyTable& table, const std::vector<ReportLayout>& layouts, std::size_t result)
      : table_(table), layouts_(layouts), result_(result) {}

  StudyJson json(const std::string& command) const {
    const std::string& name = table_.results[result_];
    StudyJson section{{"id", name}, {"title", name}};
    section["statement"] = layouts_.size() > 1
                               ? fmt::format("{} over {}.", name, fmt::join(table_.axes, ", "))
                               : statement_of(table_, layouts_.front(), result_);
    section["computed"] =
        fmt::format("{} of {} units of {}{}.", table_.rows.size(), table_.units, table_.quantity, fixed());
    section["numbers"] = numbers();
    section["tables"] = StudyJson::array({rows()});
    section["figures"] = StudyJson::array();
    if (layouts_.front().x) section["figures"].push_back(report_figure(table_, layouts_, result_));
    section["command"] = command;
    return section;
  }

 private:
  const StudyResult& of(const StudyRow& row) const { return row.results[result_]; }

  // What is the same everywhere.
  std::string fixed() const {
    std::string text;
    const StudyJson configuration = StudyJson::parse(table_.configuration);
    for (const auto& [key, value] : configuration.at("settings").items()) {
      const std::string said = value.is_boolean() ? to_text(value) : shown_value(value_of(value));
      text += fmt::format("{}{} = {}", text.empty() ? ": " : ", ", key, said);
    }
    return text;
  }

  StudyJson numbers() const {
    double least = HUGE_VAL, most = -HUGE_VAL;
    for (const StudyRow& row : table_.rows) {
      if (std::isnan(of(row).value)) continue;
      least = std::min(least, of(row).value);
      most = std::max(most, of(row).value);
    }
    StudyJson list = StudyJson::array();
    if (least <= most) {
      list.push_back({{"label", "smallest"}, {"value", number_value_json(least)}});
      list.push_back({{"label", "largest"}, {"value", number_value_json(most)}});
    }
    const auto failed = std::count_if(table_.rows.begin(), table_.rows.end(),
                                      [](const StudyRow& row) { return !row.message.empty(); });
    if (failed > 0) list.push_back({{"label", "failed units"}, {"value", failed}});
    const auto warned = std::count_if(table_.rows.begin(), table_.rows.end(),
                                      [](const StudyRow& row) { return !row.warning.empty(); });
    if (warned > 0) list.push_back({{"label", "units with a warning"}, {"value", warned}});
    return list;
  }

  StudyJson rows() const {
    StudyJson columns = table_.axes;
    columns.push_back(table_.results[result_]);
    columns.push_back("error");
    StudyJson list = StudyJson::array();
    for (const StudyRow& row : table_.rows) {
      if (list.size() == kMostRows) break;
      StudyJson cells = varying_inputs(table_, row);
      cells.push_back(row.message.empty() ? number_value_json(of(row).value) : StudyJson("failed"));
      cells.push_back(number_value_json(of(row).error));
      list.push_back(std::move(cells));
    }
    const std::string title = table_.rows.size() > kMostRows
                                  ? fmt::format("The first {} of {} units", kMostRows, table_.rows.size())
                                  : "All units";
    return {{"title", title}, {"columns", columns}, {"rows", list}};
  }

  const StudyTable& table_;
  const std::vector<ReportLayout>& layouts_;
  std::size_t result_;
};

}  // namespace

std::string report_data(const StudyTable& table, const std::string& command, const std::string& x) {
  StudyJson json{{"kind", "study"}, {"title", table.title}};
  json["intro"] =
      fmt::format("{} of {} units of the quantity {}.", table.rows.size(), table.units, table.quantity);
  json["version"] = table.version;
  json["command"] = command;
  json["seed"] = number_value_json(table.seed);
  const std::vector<ReportLayout> layouts = layouts_of(table, x);
  json["sections"] = StudyJson::array();
  for (std::size_t i = 0; i < table.results.size(); ++i) {
    const bool any = std::any_of(table.rows.begin(), table.rows.end(),
                                 [&](const StudyRow& row) { return !std::isnan(row.results[i].value); });
    if (any) json["sections"].push_back(Section(table, layouts, i).json(command));
  }
  for (StudyJson section : {warnings(table, command), failures(table, command)}) {
    if (!section.is_null()) json["sections"].push_back(std::move(section));
  }
  // A hash of all results: the same for whoever has the same.
  json["about"] = StudyJson::array({{{"label", "Content"}, {"value", table.content}}});
  return to_text(json);
}

}  // namespace largo
