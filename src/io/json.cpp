#include "io/json.hpp"

#include <cmath>
#include <cstdint>
#include <stdexcept>

namespace largo::io {

Json number_json(double value) {
  constexpr double kWholeUpTo = 0x1p53;
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  if (value == std::floor(value) && std::abs(value) < kWholeUpTo) return static_cast<std::int64_t>(value);
  return value;
}

void check_numbers(const Json& json) {
  if (json.is_number_float() && !std::isfinite(json.get<double>())) {
    throw std::runtime_error("a result is not finite; nothing was written");
  }
  if (json.is_structured()) {
    for (const Json& item : json) check_numbers(item);
  }
}

std::string to_text(const Json& json, int indent) {
  return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

}  // namespace largo::io
