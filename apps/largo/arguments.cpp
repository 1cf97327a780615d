#include "arguments.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <functional>
#include <optional>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "io/parse_numbers.hpp"
#include "largo/measures/named_matrix.hpp"
#include "largo/runtime/check.hpp"
#include "runtime/closest_name.hpp"

namespace largo {
namespace {

std::optional<double> number_in(const std::string& text) {
  try {
    return io::parse_number("", text);
  } catch (const InputError&) {
    return std::nullopt;
  }
}

// Reads plain digits as an integer, since float64 cannot hold every 64-bit number; otherwise 1e4 and so on.
std::optional<std::uint64_t> whole_in(const std::string& text) {
  std::uint64_t digits = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, digits);
  if (error == std::errc() && stop == end) return digits;
  const std::optional<double> number = number_in(text);
  if (!number || !(*number >= 0 && *number < 0x1p64) || *number != std::floor(*number)) return std::nullopt;
  return static_cast<std::uint64_t>(*number);
}

// The short form of a count: 4096, 2^40, 2^64 - 1.
std::string shown(std::uint64_t count) {
  if (count == std::numeric_limits<std::uint64_t>::max()) return "2^64 - 1";
  if (count < 1'000'000) return fmt::format("{}", count);
  for (int power = 20; power < 64; ++power) {
    if (count == std::uint64_t{1} << power) return fmt::format("2^{}", power);
  }
  return fmt::format("{}", count);
}

CLI::Validator number_that(std::function<bool(double)> fits, const std::string& kind,
                           const std::string& range) {
  const auto check = [fits = std::move(fits), kind](std::string& text) -> std::string {
    const std::optional<double> number = number_in(text);
    if (io::is_too_small(text)) return fmt::format("'{}' is {}", text, io::kTooSmall);
    if (!number || !fits(*number)) return fmt::format("'{}' is not {}", text, kind);
    text = fmt::format("{:.17g}", *number);  // for CLI11, which reads it once more
    return "";
  };
  return {check, range};
}

}  // namespace

CLI::Option* add_text_option(CLI::App& command, const std::string& name, std::string& text,
                             const std::string& help) {
  const auto check = [](const std::string& given) -> std::string {
    return given.empty() ? "must not be empty" : "";
  };
  return command.add_option(name, text, help)->check(check, "");
}

void add_dimension_option(CLI::App& command, std::optional<std::ptrdiff_t>& dimension) {
  constexpr std::uint64_t kLargest = std::uint64_t{1} << 20;  // such a matrix fills 8 TB
  command.add_option("--d", dimension, "Dimension, if the law does not set it")
      ->transform(whole_number(1, kLargest));
}

CLI::Validator whole_number(std::uint64_t least, std::uint64_t most) {
  const auto check = [least, most](std::string& text) -> std::string {
    const std::optional<std::uint64_t> number = whole_in(text);
    if (!number || *number < least || *number > most) {
      return fmt::format("'{}' is not a whole number between {} and {}", text, shown(least), shown(most));
    }
    text = fmt::format("{}", *number);
    return "";
  };
  return {check, fmt::format("{} to {}", shown(least), shown(most))};
}

CLI::Validator finite_number(Sign sign) {
  constexpr const char* kKinds[] = {"a finite number", "a finite number of at least 0",
                                    "a finite number above 0"};
  return number_that(
      [sign](double x) { return sign == Sign::any || x > 0 || (x == 0 && sign == Sign::non_negative); },
      kKinds[static_cast<int>(sign)], "");
}

CLI::Validator number_between(double least, double most) {
  return number_that([least, most](double x) { return x >= least && x <= most; },
                     fmt::format("a number between {} and {}", least, most),
                     fmt::format("{} to {}", least, most));
}

CLI::Validator positive_or_inf() {
  const CLI::Validator number = number_that([](double x) { return x > 0; }, "a number above 0, or inf", "");
  return {[number](std::string& text) { return text == "inf" ? std::string() : number(text); }, ""};
}

CLI::Validator one_of(const std::vector<std::string>& names) {
  const auto check = [names](const std::string& text) -> std::string {
    if (std::find(names.begin(), names.end(), text) != names.end()) return "";
    constexpr std::size_t kFew = 5;  // few enough to see at a glance
    const auto closest = names.size() > kFew ? runtime::closest_name(text, names) : std::nullopt;
    return fmt::format("'{}' is not one of {}{}", text, fmt::join(names, ", "),
                       closest ? fmt::format("; did you mean {}?", *closest) : "");
  };
  return {check, fmt::format("{{{}}}", fmt::join(names, ","))};
}

RowMatrix read_queries(const char* command, const std::string& text, std::ptrdiff_t dimension) {
  return named_queries(command, "--query", text, dimension);
}

std::vector<double> read_values(const char* command, const char* option, const std::string& text) {
  return io::parse_values(command, option, text);
}

}  // namespace largo
