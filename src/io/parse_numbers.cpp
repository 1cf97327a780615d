#include "io/parse_numbers.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <system_error>

#include <fmt/format.h>

#include "largo/runtime/check.hpp"

namespace largo::io {
namespace {

constexpr double kWholeUpTo = 0x1p53;  // a length beyond this cannot be told from its neighbours
constexpr int kMostLengths = 1'000'000;

std::string_view trimmed(std::string_view text) {
  const auto begin = text.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t") - begin + 1);
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const auto at = text.find(separator);
    parts.push_back(trimmed(text.substr(0, at)));
    if (at == std::string_view::npos) return parts;
    text.remove_prefix(at + 1);
  }
}

struct ReadNumber {
  std::string_view digits;
  double value = 0;
  std::errc error = {};
};

// Accepts a plus sign, which from_chars does not, but no second sign after it.
ReadNumber read_number(std::string_view text) {
  ReadNumber read{trimmed(text)};
  std::string_view& digits = read.digits;
  if (digits.starts_with('+') && !digits.starts_with("+-")) digits.remove_prefix(1);
  const char* const last = digits.data() + digits.size();
  const auto [end, error] = std::from_chars(digits.data(), last, read.value);
  read.error = end == last ? error : std::errc::invalid_argument;
  return read;
}

// Whether a nonzero number is below 1 in absolute value, judged by its text because no double need hold it.
bool is_below_one(std::string_view digits) {
  const auto e = digits.find_first_of("eE");
  const std::string_view mantissa = digits.substr(0, e);
  std::string_view power = e == std::string_view::npos ? "0" : digits.substr(e + 1);
  if (power.starts_with('+')) power.remove_prefix(1);
  std::int64_t exponent = 0;
  const std::errc error = std::from_chars(power.data(), power.data() + power.size(), exponent).ec;
  if (error == std::errc::result_out_of_range) return power.starts_with('-');
  const auto point = static_cast<double>(std::min(mantissa.find('.'), mantissa.size()));
  const auto first = static_cast<double>(mantissa.find_first_of("123456789"));
  return static_cast<double>(exponent) + point - first <= 0;
}

// If the text is not a finite number, the message says that it must be `otherwise`.
double number_of(std::string_view argument, std::string_view text, std::string_view otherwise) {
  const ReadNumber read = read_number(text);
  if (read.error == std::errc() && std::isfinite(read.value)) return read.value;
  const std::string quoted = fmt::format("'{}'", text);
  if (is_too_small(text)) {
    fail("options", argument, quoted, fmt::format("a number that a double holds: it is {}", kTooSmall));
  }
  fail("options", argument, quoted, otherwise);
}

double parse_length(std::string_view argument, std::string_view text, LengthKind kind) {
  if (text == "inf") return std::numeric_limits<double>::infinity();
  const double length =
      number_of(argument, text,
                "a length (a number, or inf), a list such as 10,100,1e6, or a range such as 1e1:1e6:13");
  if (length < 1) fail("lengths", argument, length, "at least 1, or inf");
  if (kind == LengthKind::kWhole && length != std::floor(length)) {
    fail("lengths", argument, length, "a whole number, at least 1");
  }
  return length;
}

std::vector<double> log_spaced(std::string_view argument, const std::vector<std::string_view>& parts,
                               LengthKind kind) {
  const double first = parse_length(argument, parts[0], kind);
  const double last = parse_length(argument, parts[1], kind);
  const double count = parse_number(argument, parts[2]);
  if (!std::isfinite(first) || !std::isfinite(last))
    fail("lengths", argument, "infinite", "finite in a range");
  if (!(count >= 2 && count <= kMostLengths) || count != std::floor(count)) {
    fail("lengths", fmt::format("number of lengths in {}", argument), count,
         "a whole number between 2 and 1e6");
  }
  const bool whole = first == std::floor(first) && last == std::floor(last);
  std::vector<double> lengths;
  for (int k = 0; k < static_cast<int>(count); ++k) {
    const double t = k / (count - 1);
    const double length = std::exp((1 - t) * std::log(first) + t * std::log(last));
    lengths.push_back(whole && length < kWholeUpTo ? std::round(length) : length);
  }
  lengths.front() = first;
  lengths.back() = last;
  return lengths;
}

}  // namespace

double parse_number(std::string_view argument, std::string_view text) {
  return number_of(argument, text, "a finite number");
}

bool is_too_small(std::string_view text) {
  const ReadNumber read = read_number(text);
  return read.error == std::errc::result_out_of_range && is_below_one(read.digits);
}

std::vector<double> parse_numbers(std::string_view argument, std::string_view text) {
  std::vector<double> values;
  for (const std::string_view part : split(text, ',')) {
    values.push_back(number_of(argument, part, "a finite number, or several separated by commas"));
  }
  return values;
}

std::vector<double> parse_values(std::string_view function, std::string_view argument, std::string_view text,
                                 Spacing spacing) {
  const auto range = split(text, ':');
  if (range.size() == 1) return parse_numbers(argument, text);
  if (range.size() != 3) fail(function, argument, fmt::format("'{}'", text), "a list, or FIRST:LAST:COUNT");
  const double first = parse_number(argument, range[0]);
  const double last = parse_number(argument, range[1]);
  const double count = parse_number(argument, range[2]);
  if (!(count >= 2 && count <= kMostLengths) || count != std::floor(count)) {
    fail(function, fmt::format("number of values in {}", argument), count,
         "a whole number between 2 and 1e6");
  }
  if (spacing == Spacing::kLog && !(first > 0 && last > 0)) {
    fail(function, argument, fmt::format("'{}'", text), "positive, to be spaced in log");
  }
  std::vector<double> values;
  for (int i = 0; i < static_cast<int>(count); ++i) {
    const double t = i / (count - 1);
    values.push_back(spacing == Spacing::kLog ? std::exp((1 - t) * std::log(first) + t * std::log(last))
                                              : ((count - 1 - i) * first + i * last) / (count - 1));
  }
  values.front() = first;
  values.back() = last;
  return values;
}

std::vector<double> parse_lengths(std::string_view argument, std::string_view text, LengthKind kind) {
  const auto range = split(text, ':');
  if (range.size() == 3) return log_spaced(argument, range, kind);
  if (range.size() != 1) fail("lengths", argument, fmt::format("'{}'", text), "a list, or FIRST:LAST:COUNT");
  std::vector<double> lengths;
  for (const std::string_view part : split(text, ',')) lengths.push_back(parse_length(argument, part, kind));
  return lengths;
}

}  // namespace largo::io
