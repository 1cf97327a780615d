#include "studies/store_schema.hpp"

#include <map>
#include <string>

#include <fmt/format.h>

#include "studies/study_json.hpp"

namespace largo {
namespace {

std::string quoted(const std::string& name) { return fmt::format("\"{}\"", name); }

}  // namespace

// All of a unit in one row, written once and at the end of the table: a second table and an index on the
// names would take as long as a small unit does.
std::string store_schema(const Study& study) {
  std::string sql = fmt::format(
      "PRAGMA application_id = {}; PRAGMA user_version = {};"
      "CREATE TABLE study (title TEXT, quantity TEXT, configuration TEXT, units INTEGER, version TEXT);"
      "CREATE TABLE runs (run INTEGER PRIMARY KEY, version TEXT, started REAL, latest REAL, units INTEGER,"
      " threads INTEGER, processes INTEGER);"
      "CREATE TABLE units (unit INTEGER PRIMARY KEY, id BLOB NOT NULL, ordinal INTEGER, inputs TEXT NOT NULL,"
      " state TEXT NOT NULL, message TEXT, seconds REAL, run INTEGER REFERENCES runs",
      kApplicationId, kSchemaVersion);
  std::string results, points = "SELECT ordinal";
  for (const std::string& name : study.parameters()) {
    points += fmt::format(", json_extract(inputs, '$.\"{}\"') AS {}", name, quoted(name));
  }
  for (const std::string& name : study.results()) {
    const std::string columns = fmt::format("{}, {}", quoted(name), quoted(name + "_error"));
    sql += fmt::format(", {} REAL, {} REAL", quoted(name), quoted(name + "_error"));
    points += fmt::format(", {}", columns);
    results += fmt::format("{}SELECT unit, '{}' AS name, {} AS value, {} AS error FROM units",
                           results.empty() ? "" : " UNION ALL ", name, quoted(name), quoted(name + "_error"));
  }
  return fmt::format(
      "{}); CREATE VIEW results AS {}; CREATE VIEW points AS {} FROM units WHERE ordinal IS NOT NULL "
      "ORDER BY ordinal",
      sql, results, points);
}

namespace {

// What is the same at every unit: null where it is not given, absent where it varies.
std::map<std::string, Json> fixed_of(const Json& configuration) {
  std::map<std::string, Json> fixed;
  for (const auto& name : configuration.at("parameters")) {
    const auto key = name.get<std::string>();
    const auto& settings = configuration.at("settings");
    bool varies = configuration.at("grid").contains(key);
    for (const auto& point : configuration.at("points")) varies = varies || point.contains(key);
    if (!varies) fixed[key] = settings.contains(key) ? settings.at(key) : Json(nullptr);
  }
  return fixed;
}

}  // namespace

std::string study_difference(const std::string& stored, const std::string& wanted) {
  const Json before = Json::parse(stored), here = Json::parse(wanted);
  if (before.at("quantity") != here.at("quantity")) {
    return fmt::format("its quantity is {}", to_text(before.at("quantity")));
  }
  if (before.at("results") != here.at("results") || before.at("parameters") != here.at("parameters")) {
    return "its quantity has other parameters or results";
  }
  const auto fixed_before = fixed_of(before), fixed_here = fixed_of(here);
  for (const auto& [key, value] : fixed_before) {
    const auto other = fixed_here.find(key);
    if (other == fixed_here.end() || other->second == value) continue;
    const auto shown = [](const Json& json) { return json.is_null() ? "not given" : to_text(json); };
    return fmt::format("its {} is {}, and here {}", key, shown(value), shown(other->second));
  }
  return {};
}

}  // namespace largo
