#include "assumptions_report.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

namespace largo {
namespace {

io::Json row_json(const Assumption& row) {
  io::Json json{{"name", row.name}, {"value", nullptr}, {"holds", nullptr}, {"needed_by", row.needed_by}};
  if (row.value) json["value"] = io::number_json(*row.value);
  if (row.holds != Holds::unknown) json["holds"] = row.holds == Holds::yes;
  json["kind"] = row.value ? io::Json(name_of(row.kind)) : io::Json(nullptr);
  json["statement"] = row.statement;
  if (!row.where.empty()) json["where"] = row.where;
  if (!row.note.empty()) json["note"] = row.note;
  for (const double value : row.at_queries) json["at_queries"].push_back(io::number_json(value));
  return json;
}

std::string value_text(const Assumption& row) {
  if (!row.value) return "-";
  const char* const sign = row.kind == ValueKind::exact ? "" : row.kind == ValueKind::at_most ? "<= " : ">= ";
  return fmt::format("{}{:.6g}", sign, *row.value);
}

void print_text(const AssumptionsReport& report) {
  fmt::print("{}\n{:<24} {:>14}  {:<8} {}\n", report.heading, "assumption", "value", "holds", "needed by");
  for (const Assumption& row : report.assumptions) {
    fmt::print("{:<24} {:>14}  {:<8} {}\n", row.name, value_text(row), name_of(row.holds), row.needed_by);
    if (!row.where.empty()) fmt::print("    {}\n", row.where);
    if (!row.note.empty()) fmt::print("    note: {}\n", row.note);
  }
}

// The texts hold commas but no quotes.
std::string to_csv(const AssumptionsReport& report) {
  std::string text = "name,value,kind,holds,needed_by,statement,where,note\n";
  for (const Assumption& row : report.assumptions) {
    text += fmt::format("{},{},{},{},\"{}\",\"{}\",\"{}\",\"{}\"\n", row.name,
                        row.value ? fmt::format("{}", *row.value) : "", row.value ? name_of(row.kind) : "",
                        name_of(row.holds), row.needed_by, row.statement, row.where, row.note);
  }
  return text;
}

}  // namespace

void print_assumptions(const char* command, const AssumptionsReport& report, bool as_json,
                       const OutputFiles& outputs) {
  io::Json json = report.subject;
  json["assumptions"] = io::Json::array();
  for (const Assumption& row : report.assumptions) json["assumptions"].push_back(row_json(row));
  const Results results{.json = std::move(json),
                        .to_csv = [&] { return to_csv(report); },
                        .print = [&] { print_text(report); }};
  show_results(command, results, outputs, as_json);
}

}  // namespace largo
