#include "studies/study_json.hpp"

#include <cmath>
#include <limits>

#include <fmt/format.h>

namespace largo::studies {

std::string number_text(double value) {
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  return fmt::format("{}", value == 0 ? 0.0 : value);  // no -0
}

std::string value_text(const StudyValue& value) {
  if (const double* number = std::get_if<double>(&value)) return number_text(*number);
  if (const std::string* text = std::get_if<std::string>(&value)) return *text;
  return {};
}

io::Json value_json(double value) { return std::isnan(value) ? io::Json() : io::number_json(value); }

io::Json value_json(const StudyValue& value) {
  if (const double* number = std::get_if<double>(&value)) return value_json(*number);
  if (const std::string* text = std::get_if<std::string>(&value)) return *text;
  return nullptr;
}

StudyValue value_of(const io::Json& json) {
  if (json.is_number()) return json.get<double>();
  if (!json.is_string()) return {};
  const auto& text = json.get_ref<const std::string&>();
  if (text == "inf") return std::numeric_limits<double>::infinity();
  return text;
}

std::string json_text(const StudyValue& value) {
  const double* number = std::get_if<double>(&value);
  if (number != nullptr && std::isfinite(*number)) return number_text(*number);
  return io::to_text(io::Json(value_text(value)));
}

}  // namespace largo::studies
