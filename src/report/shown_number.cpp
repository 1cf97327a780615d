// Numbers as a reader sees them.
#include "report/report.hpp"

#include <cmath>
#include <cstdlib>
#include <string_view>

#include <fmt/format.h>

namespace largo::report {
namespace {

constexpr double kCounted = 1e9;  // smaller whole numbers may be lengths, where every token counts

std::string with_minus(const std::string& text) {
  return text.starts_with('-') ? fmt::format("−{}", text.substr(1)) : text;
}

std::string raised(int exponent) {
  constexpr std::string_view kDigits[] = {"⁰", "¹", "²", "³", "⁴", "⁵", "⁶", "⁷", "⁸", "⁹"};
  std::string out;
  for (const char c : std::to_string(exponent)) out += c == '-' ? "⁻" : kDigits[c - '0'];
  return out;
}

}  // namespace

std::string shown(double value, int digits) {
  if (std::isinf(value)) return value > 0 ? "∞" : "−∞";
  if (value == 0) return "0";
  const std::string text = fmt::format("{:.{}e}", value, digits - 1);
  const bool whole = value == std::floor(value);
  const bool rounded = std::strtod(text.c_str(), nullptr) != value;
  if (whole && std::abs(value) < (rounded ? kCounted : 1e6)) return with_minus(fmt::format("{:.0f}", value));
  const std::size_t e = text.find('e');
  const int exponent = std::atoi(text.c_str() + e + 1);
  if (exponent >= -3 && exponent < 6) {
    return with_minus(fmt::format("{}", std::strtod(text.c_str(), nullptr)));
  }
  std::string mantissa = text.substr(0, e);
  if (mantissa.find('.') != std::string::npos) {
    mantissa.erase(mantissa.find_last_not_of('0') + 1);
    if (mantissa.ends_with('.')) mantissa.pop_back();
  }
  if (mantissa == "1" || mantissa == "-1") {
    return with_minus(fmt::format("{}10{}", mantissa == "1" ? "" : "-", raised(exponent)));
  }
  return fmt::format("{}×10{}", with_minus(mantissa), raised(exponent));
}

}  // namespace largo::report
