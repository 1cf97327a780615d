// Results of a study as CSV and as JSON.
#include <cmath>

#include <fmt/format.h>

#include "largo/studies/study_table.hpp"
#include "studies/study_json.hpp"

namespace largo {
namespace {

// RFC 4180
std::string field(const std::string& text) {
  if (text.find_first_of(",\"\n\r") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? "\"\"" : std::string(1, c);
  return quoted + "\"";
}

std::string number_field(double value) { return std::isnan(value) ? "" : number_text(value); }

}  // namespace

std::string to_csv(const StudyTable& table) {
  std::string text;
  for (const std::string& name : table.parameters) text += fmt::format("{},", field(name));
  for (const std::string& name : table.results) text += fmt::format("{0},{0}_error,", field(name));
  text += "message\n";
  for (const StudyRow& row : table.rows) {
    for (const StudyValue& value : row.inputs) text += fmt::format("{},", field(value_text(value)));
    for (const StudyResult& result : row.results) {
      text += fmt::format("{},{},", number_field(result.value), number_field(result.error));
    }
    text += fmt::format("{}\n", field(row.message));
  }
  return text;
}

std::string to_json(const StudyTable& table) {
  StudyJson json{{"title", table.title},
                 {"quantity", table.quantity},
                 {"version", table.version},
                 {"content", table.content},
                 {"units", table.units}};
  json["configuration"] = StudyJson::parse(table.configuration);
  json["rows"] = StudyJson::array();
  for (const StudyRow& row : table.rows) {
    StudyJson one;
    one["inputs"] = StudyJson::object();
    for (std::size_t i = 0; i < row.inputs.size(); ++i) {
      if (row.inputs[i].index() != 0) one["inputs"][table.parameters[i]] = value_json(row.inputs[i]);
    }
    if (!row.message.empty()) {
      one["message"] = row.message;
    } else {
      one["results"] = StudyJson::object();
      for (std::size_t i = 0; i < row.results.size(); ++i) {
        const auto& [value, error] = row.results[i];
        if (std::isnan(value)) continue;
        StudyJson& result = one["results"][table.results[i]] = {{"value", number_value_json(value)}};
        if (!std::isnan(error)) result["error"] = number_value_json(error);
      }
    }
    json["rows"].push_back(std::move(one));
  }
  return to_text(json);
}

}  // namespace largo
