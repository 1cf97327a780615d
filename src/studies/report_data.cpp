// The data of a study's report page: for each result a figure and a table.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "largo/studies/study_table.hpp"
#include "studies/report_layout.hpp"
#include "studies/study_json.hpp"

namespace largo {
namespace {

constexpr std::size_t kMostCurves = 8;      // as many as there are colours
constexpr std::size_t kMostRows = 500;      // of a table; all are in the CSV
constexpr std::size_t kMostSettings = 40;   // of a slider
constexpr std::size_t kMostOfCurve = 1000;  // points; more cannot be told apart
constexpr std::size_t kMostPoints = 50000;  // of all figures, so that the page stays below 3 MB
constexpr double kSeenError = 1e-3;         // relative: a smaller one is thinner than its curve
constexpr double kLogFrom = 20;             // largest over smallest value

// As many digits as a figure, or its tip, can show.
StudyJson drawn(double value) {
  if (!std::isfinite(value)) return number_value_json(value);
  return number_value_json(std::strtod(fmt::format("{:.8g}", value).c_str(), nullptr));
}

// Those of the parameters that vary.
StudyJson varying_inputs(const StudyTable& table, const StudyRow& row) {
  StudyJson cells = StudyJson::array();
  for (const std::string& name : table.axes) {
    const auto at = std::find(table.parameters.begin(), table.parameters.end(), name);
    cells.push_back(value_json(row.inputs[static_cast<std::size_t>(at - table.parameters.begin())]));
  }
  return cells;
}

// Where some units have no results: which, and why. Null where there are none.
StudyJson failures(const StudyTable& table, const std::string& command) {
  StudyJson columns = table.axes, rows = StudyJson::array();
  columns.push_back("message");
  std::size_t failed = 0;
  for (const StudyRow& row : table.rows) {
    if (row.message.empty() || ++failed > kMostRows) continue;
    rows.push_back(varying_inputs(table, row));
    rows.back().push_back(row.message);
  }
  if (failed == 0) return nullptr;
  const std::string title =
      failed > kMostRows ? fmt::format("The first {} of them", kMostRows) : "All of them";
  StudyJson section{{"id", "failures"}, {"title", "Failed units"}};
  section["statement"] = "Units that have no results, and what was said about them.";
  section["computed"] = fmt::format("{} of {} units of {}.", failed, table.units, table.quantity);
  section["numbers"] = StudyJson::array();
  section["tables"] = StudyJson::array({{{"title", title}, {"columns", columns}, {"rows", rows}}});
  section["figures"] = StudyJson::array();
  section["command"] = command;
  return section;
}

class Section {
 public:
  Section(const StudyTable& table, const ReportLayout& layout, std::size_t result)
      : table_(table), layout_(layout), result_(result), log_y_(log_y()), band_(has_band()) {}

  StudyJson json(const std::string& command) const {
    const std::string& name = table_.results[result_];
    StudyJson section{{"id", name}, {"title", name}};
    section["statement"] = statement();
    section["computed"] =
        fmt::format("{} of {} units of {}{}.", table_.rows.size(), table_.units, table_.quantity, fixed());
    section["numbers"] = numbers();
    section["tables"] = StudyJson::array({rows()});
    section["figures"] = StudyJson::array();
    if (layout_.x) section["figures"].push_back(figure());
    section["command"] = command;
    return section;
  }

 private:
  const StudyResult& of(const StudyRow& row) const { return row.results[result_]; }

  bool shown(const StudyRow& row) const {
    if (std::isnan(of(row).value)) return false;
    return std::all_of(layout_.held.begin(), layout_.held.end(), [&](const ReportAxis& axis) {
      return row.inputs[axis.parameter] == axis.values.front();
    });
  }

  std::string statement() const {
    std::string text = table_.results[result_];
    if (layout_.x) text += fmt::format(" against {}", layout_.x->name);
    if (layout_.curves) text += fmt::format(", a curve for each {}", layout_.curves->name);
    if (layout_.curves && layout_.curves->values.size() > kMostCurves) {
      text += fmt::format(" ({} of its {} values)", kMostCurves, layout_.curves->values.size());
    }
    if (layout_.slider) text += fmt::format(", {} by the slider", layout_.slider->name);
    for (const ReportAxis& axis : layout_.held) {
      text += fmt::format(", {} = {}", axis.name, value_text(axis.values.front()));
    }
    return fmt::format("{}.", text);
  }

  // What is the same everywhere.
  std::string fixed() const {
    std::string text;
    const StudyJson configuration = StudyJson::parse(table_.configuration);
    for (const auto& [key, value] : configuration.at("settings").items()) {
      const std::string shown = value.is_string() ? value.get<std::string>() : to_text(value);
      text += fmt::format("{}{} = {}", text.empty() ? ": " : ", ", key, shown);
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

  bool log_y() const {
    double least = HUGE_VAL, most = 0;
    for (const StudyRow& row : table_.rows) {
      if (!shown(row) || !std::isfinite(of(row).value)) continue;
      least = std::min(least, of(row).value);
      most = std::max(most, of(row).value);
    }
    return least > 0 && most > kLogFrom * least;
  }

  bool has_band() const {
    return std::any_of(table_.rows.begin(), table_.rows.end(), [&](const StudyRow& row) {
      return shown(row) && of(row).error > kSeenError * std::abs(of(row).value);
    });
  }

  StudyJson curve(const StudyValue& which, const std::optional<StudyValue>& setting,
                  std::size_t color) const {
    std::vector<std::pair<double, StudyResult>> points;
    for (const StudyRow& row : table_.rows) {
      if (!shown(row) || (layout_.curves && row.inputs[layout_.curves->parameter] != which)) continue;
      if (setting && row.inputs[layout_.slider->parameter] != *setting) continue;
      points.emplace_back(std::get<double>(row.inputs[layout_.x->parameter]), of(row));
    }
    std::stable_sort(points.begin(), points.end(),
                     [](const auto& one, const auto& other) { return one.first < other.first; });
    StudyJson json{
        {"label", layout_.curves ? fmt::format("{} = {}", layout_.curves->name, value_text(which)) : ""},
        {"x", StudyJson::array()},
        {"y", StudyJson::array()}};
    for (const auto& [x, result] : spread(points, kMostOfCurve)) {
      json["x"].push_back(drawn(x));
      json["y"].push_back(drawn(result.value));
      if (!band_) continue;
      const double error = std::isnan(result.error) ? 0 : result.error;
      json["low"].push_back(drawn(result.value - error));
      json["high"].push_back(drawn(result.value + error));
    }
    json["style"] = "line";
    json["color"] = color;
    return json;
  }

  StudyJson panel(const std::optional<StudyValue>& setting) const {
    StudyJson json{
        {"title", setting ? fmt::format("{} = {}", layout_.slider->name, value_text(*setting)) : ""},
        {"x_label", layout_.x->name},
        {"y_label", table_.results[result_]},
        {"log_x", log_spaced(*layout_.x)},
        {"log_y", log_y_},
        {"curves", StudyJson::array()},
        {"notes", StudyJson::array()}};
    const std::vector<StudyValue> which =
        layout_.curves ? spread(layout_.curves->values, kMostCurves) : std::vector<StudyValue>(1);
    for (std::size_t i = 0; i < which.size(); ++i) {
      StudyJson one = curve(which[i], setting, i);
      if (!one["x"].empty()) json["curves"].push_back(std::move(one));
    }
    return json;
  }

  StudyJson figure() const {
    StudyJson json{{"id", table_.results[result_]}, {"caption", statement()}};
    if (!layout_.slider) {
      json["panels"] = StudyJson::array({panel(std::nullopt)});
      return json;
    }
    const std::size_t curves = layout_.curves ? std::min(layout_.curves->values.size(), kMostCurves) : 1;
    const std::size_t points =
        table_.results.size() * curves * std::min(layout_.x->values.size(), kMostOfCurve);
    const std::vector<StudyValue> settings = spread(
        layout_.slider->values, std::min(kMostSettings, std::max<std::size_t>(1, kMostPoints / points)));
    json["panels"] = StudyJson::array({panel(settings.front())});
    StudyJson slider{
        {"label", layout_.slider->name}, {"values", StudyJson::array()}, {"panels", StudyJson::array()}};
    for (const StudyValue& setting : settings) {
      slider["values"].push_back(value_json(setting));
      slider["panels"].push_back(StudyJson::array({panel(setting)}));
    }
    json["slider"] = std::move(slider);
    return json;
  }

  const StudyTable& table_;
  const ReportLayout& layout_;
  std::size_t result_;
  bool log_y_, band_;
};

}  // namespace

std::string report_data(const StudyTable& table, const std::string& command) {
  StudyJson json{{"kind", "study"}, {"title", table.title}};
  json["intro"] = fmt::format("{} of {} units of the quantity {}. Content {}.", table.rows.size(),
                              table.units, table.quantity, table.content);
  json["version"] = table.version;
  json["command"] = command;
  json["seed"] = number_value_json(table.seed);
  const ReportLayout layout = layout_of(table);
  json["sections"] = StudyJson::array();
  for (std::size_t i = 0; i < table.results.size(); ++i) {
    const bool any = std::any_of(table.rows.begin(), table.rows.end(),
                                 [&](const StudyRow& row) { return !std::isnan(row.results[i].value); });
    if (any) json["sections"].push_back(Section(table, layout, i).json(command));
  }
  if (StudyJson section = failures(table, command); !section.is_null()) {
    json["sections"].push_back(std::move(section));
  }
  return to_text(json);
}

}  // namespace largo
