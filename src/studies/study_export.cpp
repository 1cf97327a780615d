// Results of a study as CSV and as JSON, row by row.
#include <algorithm>
#include <cmath>
#include <stdexcept>

#include <fmt/format.h>

#include "io/parse_numbers.hpp"
#include "largo/runtime/check.hpp"
#include "largo/studies/study_table.hpp"
#include "runtime/distribute.hpp"
#include "studies/study_json.hpp"
#include "studies/study_rows.hpp"

namespace largo {
namespace {

// Quoted as in RFC 4180.
std::string field(const std::string& text) {
  if (text.find_first_of(",\"\n\r") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? "\"\"" : std::string(1, c);
  return quoted + "\"";
}

// Whether the text is a list of numbers, such as "-1,0;2e3,1".
bool are_numbers(std::string text) {
  std::replace(text.begin(), text.end(), ';', ',');
  try {
    io::parse_numbers("", text);
    return true;
  } catch (const InputError&) {
    return false;
  }
}

// A spreadsheet would evaluate such a text, whatever it holds; an apostrophe before it keeps it a text there.
bool is_formula(const std::string& text) {
  constexpr std::string_view kSigns = "=+-@\t\r";
  return !text.empty() && kSigns.find(text.front()) != std::string_view::npos && !are_numbers(text);
}

std::string text_field(const std::string& text) {
  return field(is_formula(text) ? fmt::format("'{}", text) : text);
}

std::string value_field(const StudyValue& value) {
  const std::string* text = std::get_if<std::string>(&value);
  return text == nullptr ? studies::value_text(value) : text_field(*text);
}

std::string number_field(double value) { return std::isnan(value) ? "" : studies::number_text(value); }

std::string csv_row(const StudyRow& row) {
  std::string text;
  for (const StudyValue& value : row.inputs) text += fmt::format("{},", value_field(value));
  for (const StudyResult& result : row.results) {
    text += fmt::format("{},{},", number_field(result.value), number_field(result.error));
  }
  return text + fmt::format("{},{}\n", text_field(row.message), text_field(row.warning));
}

io::Json json_row(const studies::StudyHeader& header, const StudyRow& row) {
  io::Json one;
  one["inputs"] = io::Json::object();
  for (std::size_t i = 0; i < row.inputs.size(); ++i) {
    if (row.inputs[i].index() != 0) one["inputs"][header.parameters[i]] = studies::value_json(row.inputs[i]);
  }
  if (!row.message.empty()) {
    one["message"] = row.message;
    return one;
  }
  one["results"] = io::Json::object();
  for (std::size_t i = 0; i < row.results.size(); ++i) {
    const auto& [value, error] = row.results[i];
    if (std::isnan(value)) continue;
    io::Json& result = one["results"][header.results[i]] = {{"value", studies::value_json(value)}};
    if (!std::isnan(error)) result["error"] = studies::value_json(error);
  }
  if (!row.warning.empty()) one["warning"] = row.warning;
  return one;
}

}  // namespace

StudyExtent write_study_csv(const std::filesystem::path& store, const TextSink& sink,
                            const Execution& execution) {
  studies::StudyRows rows(store);
  const studies::StudyHeader& header = rows.header();
  std::string names;
  for (const std::string& name : header.parameters) names += fmt::format("{},", field(name));
  for (const std::string& name : header.results) names += fmt::format("{0},{0}_error,", field(name));
  sink(names + "message,warning\n");
  rows.for_each([&](const studies::StoredUnit& unit) {
    runtime::check_stop(execution);
    sink(csv_row(rows.row_of(unit)));
  });
  return {header.units, rows.size()};
}

StudyExtent write_study_json(const std::filesystem::path& store, const TextSink& sink,
                             const Execution& execution) {
  studies::StudyRows rows(store);
  const studies::StudyHeader& header = rows.header();
  studies::ContentHash before(header), now(header);
  rows.for_each([&](const studies::StoredUnit& unit) {
    runtime::check_stop(execution);
    before.add(unit);
  });
  const std::string content = before.finish();
  io::Json json{{"title", header.title},
                {"quantity", header.quantity},
                {"version", header.version},
                {"content", content},
                {"units", header.units}};
  json["configuration"] = io::Json::parse(header.configuration);
  std::string text = io::to_text(json);
  text.back() = ',';  // in place of the closing brace
  sink(text + "\"rows\":[");
  std::string_view between;
  rows.for_each([&](const studies::StoredUnit& unit) {
    runtime::check_stop(execution);
    now.add(unit);
    sink(fmt::format("{}{}", between, io::to_text(json_row(header, rows.row_of(unit)))));
    between = ",";
  });
  if (now.finish() != content) {
    throw std::runtime_error(
        fmt::format("{}: the study was changed while this was reading it: try again", store.string()));
  }
  sink("]}");
  return {header.units, rows.size()};
}

}  // namespace largo
