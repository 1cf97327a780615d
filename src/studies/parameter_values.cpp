#include "studies/parameter_values.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "io/parse_toml.hpp"
#include "io/text.hpp"
#include "largo/runtime/check.hpp"
#include "largo/studies/study.hpp"
#include "runtime/closest_name.hpp"
#include "studies/study_json.hpp"

namespace largo::studies {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

const char* wanted(const Parameter& parameter) {
  switch (parameter.kind) {
    case ParameterKind::number: return "a number";
    case ParameterKind::positive: return "a number above 0";
    case ParameterKind::length: return "a number of at least 1, or inf";
    case ParameterKind::whole: return "a whole number from 0 to 2^53 - 1";
    case ParameterKind::sample_size: return "a whole number from 2 to 2^53 - 1";
    case ParameterKind::text:
    case ParameterKind::law:
    case ParameterKind::matrix: return "a text in quotes";
  }
  return "";
}

[[noreturn]] void refuse(const Parameter& parameter, const std::string& value, const Place& where) {
  fail(where.text(), fmt::format("'{}' is {}, must be {}", parameter.name, value, wanted(parameter)));
}

double checked(const Parameter& parameter, double value, const Place& where) {
  bool good = false;
  switch (parameter.kind) {
    case ParameterKind::number: good = std::isfinite(value); break;
    case ParameterKind::positive: good = std::isfinite(value) && value > 0; break;
    case ParameterKind::length: good = value >= 1; break;
    case ParameterKind::whole:  // from 2^53 on, neighbouring whole numbers round to the same double
    case ParameterKind::sample_size:
      good = value >= (parameter.kind == ParameterKind::sample_size ? 2 : 0) && value == std::floor(value) &&
             value < 0x1p53;
      break;
    case ParameterKind::text:
    case ParameterKind::law:
    case ParameterKind::matrix: break;
  }
  if (!good) refuse(parameter, fmt::format("{}", value), where);
  return value == 0 ? 0.0 : value;  // a unit is named by its numbers, and -0 must have the name of 0
}

std::string checked(const Parameter& parameter, std::string text, const Place& where) {
  if (text.empty()) fail(where.text(), fmt::format("'{}' is an empty text", parameter.name));
  try {
    io::Json(text).dump();
  } catch (const io::Json::exception&) {  // all such texts would get the same name
    fail(where.text(), fmt::format("'{}' is not UTF-8", parameter.name));
  }
  if (io::one_line(text) != text) {
    fail(where.text(), fmt::format("'{}' is {}, must be one line", parameter.name, io::in_quotes(text)));
  }
  const auto& choices = parameter.choices;
  if (!choices.empty() && std::find(choices.begin(), choices.end(), text) == choices.end()) {
    fail(where.text(), fmt::format("'{}' is not a value of '{}'{}", text, parameter.name,
                                   runtime::suggestion(text, choices)));
  }
  return text;
}

// value_or() would return its default for a whole number that no double holds.
double number_of(const toml::node& node) {
  if (const auto* whole = node.as_integer()) return static_cast<double>(whole->get());
  return node.value_or(0.0);
}

std::string shown(const toml::node& node) {
  if (node.is_table()) return "a table";
  if (node.is_array()) return "a list";
  if (const auto* text = node.as_string()) return fmt::format("the text '{}'", text->get());
  if (const auto* flag = node.as_boolean()) return flag->get() ? "true" : "false";
  if (const auto* number = node.as_integer()) return fmt::format("{}", number->get());
  if (const auto* number = node.as_floating_point()) return fmt::format("{}", number->get());
  return "a date or time";
}

// Numbers as a list or as "first:last:count", possibly followed by ":log" or ":even".
std::vector<StudyValue> numbers_of(const Parameter& parameter, std::string_view text, const Place& where) {
  const bool length = parameter.kind == ParameterKind::length;
  io::Spacing spacing = length ? io::Spacing::kLog : parameter.spacing;
  for (const auto& [suffix, kind] :
       {std::pair(":log", io::Spacing::kLog), std::pair(":even", io::Spacing::kEven)}) {
    if (!text.ends_with(suffix)) continue;
    spacing = kind;
    text.remove_suffix(std::string_view(suffix).size());
    break;
  }
  std::vector<double> numbers;
  try {
    if (std::count(text.begin(), text.end(), ':') == 2) {
      const double count = io::parse_number(parameter.name, text.substr(text.rfind(':') + 1));
      if (count > static_cast<double>(kMostUnits)) {
        fail("", fmt::format("'{}' would be {:.15g} values, and at most {} are allowed", parameter.name,
                             count, kMostUnits));
      }
    }
    numbers = length && spacing == io::Spacing::kLog
                  ? io::parse_lengths(parameter.name, text, io::LengthKind::kReal)
                  : io::parse_values("", parameter.name, text, spacing);
  } catch (const InputError& error) {
    const std::string_view message = error.what();
    const auto begin = message.find(": ");  // drops the name of a function, which says nothing about a file
    fail(where.text(), std::string(begin == std::string_view::npos ? message : message.substr(begin + 2)));
  }
  std::vector<StudyValue> values;
  for (const double number : numbers) values.emplace_back(checked(parameter, number, where));
  return values;
}

}  // namespace

std::string Place::text() const { return line == 0 ? file : fmt::format("{}:{}", file, line); }

Place Place::of(const toml::node& node) const {
  const std::size_t there = node.source().begin.line;
  return line == 0 || there == 0 ? *this : Place{file, there};
}

StudyValue one_value(const Parameter& parameter, const toml::node& node, const Place& where) {
  if (is_text(parameter.kind)) {
    if (!node.is_string()) refuse(parameter, shown(node), where);
    return checked(parameter, node.value_or(std::string()), where);
  }
  if (node.is_array()) {
    fail(where.text(), fmt::format("'{}' is a list: lists belong in [grid]", parameter.name));
  }
  if (parameter.kind == ParameterKind::length && node.is_string() &&
      node.value_or("") == std::string("inf")) {
    return kInfinity;
  }
  if (!node.is_number()) refuse(parameter, shown(node), where);
  return checked(parameter, number_of(node), where);
}

std::vector<StudyValue> all_values(const Parameter& parameter, const toml::node& node, const Place& where) {
  if (const toml::array* array = node.as_array()) {
    if (array->empty())
      fail(where.text(), fmt::format("'{}' is an empty list: the grid is empty", parameter.name));
    std::vector<StudyValue> values;
    for (const toml::node& item : *array) {
      if (item.is_array()) refuse(parameter, "a list in a list", where.of(item));
      values.push_back(one_value(parameter, item, where.of(item)));
    }
    return values;
  }
  if (!is_text(parameter.kind) && node.is_string()) {
    return numbers_of(parameter, node.value_or(std::string()), where);
  }
  return {one_value(parameter, node, where)};
}

std::vector<StudyValue> values_of_text(const Parameter& parameter, const std::string& text,
                                       const Place& where) {
  if (text.starts_with('[') || text.starts_with('"') || text.starts_with('\'')) {
    try {
      const toml::table table = io::parse_toml(fmt::format("value = {}", text), where.text());
      if (table.size() != 1) fail(where.text(), "one value, or one list, is wanted");
      return all_values(parameter, *table.get("value"), where);
    } catch (const io::TomlError& error) {
      fail(where.text(), error.what());
    }
  }
  if (is_text(parameter.kind)) return {checked(parameter, text, where)};
  return numbers_of(parameter, text, where);
}

}  // namespace largo::studies
