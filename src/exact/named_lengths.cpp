#include "exact/named_lengths.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>

#include <fmt/format.h>

#include "largo/runtime/check.hpp"

namespace largo::exact {
namespace {

std::string_view trimmed(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  return text;
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (;;) {
    const std::size_t end = text.find(separator);
    parts.push_back(trimmed(text.substr(0, end)));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

bool is_named(std::string_view text) {
  return text.starts_with("uniform:") || text.starts_with("geometric:");
}

std::int64_t whole(std::string_view argument, std::string_view text) {
  const double number = io::parse_number(argument, text);
  if (!(number >= 1 && number <= 1e15) || number != std::floor(number)) {
    fail("lengths", argument, number, "a whole number from 1 to 1e15");
  }
  return static_cast<std::int64_t>(number);
}

LengthLaw named(std::string_view argument, std::string_view text) {
  const std::vector<std::string_view> parts = split(text, ':');
  if (parts[0] == "uniform" && parts.size() == 3) {
    return LengthLaw::uniform(whole(argument, parts[1]), whole(argument, parts[2]));
  }
  if (parts[0] == "geometric" && parts.size() == 2) {
    return LengthLaw::geometric(io::parse_number(argument, parts[1]));
  }
  fail("lengths", argument, fmt::format("'{}'", text), "uniform:FIRST:LAST or geometric:MEAN");
}

LengthLaw with_probabilities(std::string_view argument, std::string_view text, io::LengthKind kind) {
  std::vector<double> lengths, probabilities;
  for (const std::string_view item : split(text, ',')) {
    if (is_named(item)) {
      fail("lengths", argument, fmt::format("'{}'", text),
           "one law: lengths with probabilities stand alone, not in a list");
    }
    const std::size_t sign = item.find('=');
    const std::vector<double> length = io::parse_lengths(argument, item.substr(0, sign), kind);
    if (sign == std::string_view::npos || length.size() != 1) {
      fail("lengths", argument, fmt::format("'{}'", text),
           "a length and its probability each, such as 10=0.5,100=0.5");
    }
    lengths.push_back(length[0]);
    probabilities.push_back(io::parse_number(argument, item.substr(sign + 1)));
  }
  return {std::move(lengths), std::move(probabilities)};
}

}  // namespace

std::vector<LengthLaw> parse_length_laws(std::string_view argument, std::string_view text,
                                         io::LengthKind kind) {
  if (text.find('=') != std::string_view::npos) return {with_probabilities(argument, text, kind)};
  const std::vector<std::string_view> items = split(text, ',');
  const bool any_law = std::any_of(items.begin(), items.end(), is_named);
  std::vector<LengthLaw> laws;
  for (const std::string_view item : any_law ? items : std::vector{text}) {
    if (is_named(item)) {
      laws.push_back(named(argument, item));
    } else {
      for (const double L : io::parse_lengths(argument, item, kind)) laws.emplace_back(L);
    }
  }
  return laws;
}

}  // namespace largo::exact

namespace largo {

LengthLaw named_length_law(std::string_view text) {
  std::vector<LengthLaw> laws = exact::parse_length_laws("L", text, io::LengthKind::kReal);
  if (laws.size() != 1) fail("lengths", "L", fmt::format("'{}'", text), "one length, or one law of lengths");
  return laws.front();
}

}  // namespace largo
