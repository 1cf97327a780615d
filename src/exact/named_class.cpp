#include "exact/named_class.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "io/parse_numbers.hpp"
#include "largo/exact/softmax_moments.hpp"
#include "largo/runtime/check.hpp"

namespace largo::exact {

TokenClass named_class(std::string_view function, std::string_view argument, std::string_view text) {
  if (std::any_of(text.begin(), text.end(), [](unsigned char c) { return c < ' ' || c == 0x7f; }))
    fail(function, fmt::format("{} has control characters", argument));
  const std::size_t first = text.find(':');
  const std::size_t second = first == std::string_view::npos ? first : text.find(':', first + 1);
  if (second == std::string_view::npos || text.find(':', second + 1) != std::string_view::npos)
    fail(function, argument, text, "COUNT:SHIFT:SPREAD, like 200:0:1.5");
  const auto name = [&](const char* part) { return fmt::format("{} {}: {}", argument, text, part); };
  const auto number = [&](const char* part, std::size_t from, std::size_t to) {
    return io::parse_number(name(part), text.substr(from, to - from));
  };
  const TokenClass one{number("COUNT", 0, first), number("SHIFT", first + 1, second),
                       number("SPREAD", second + 1, text.size())};
  if (!(one.count >= 1 && one.count <= kLargestL))
    fail(function, name("COUNT"), one.count, "between 1 and 1e300");
  if (!(std::abs(one.shift) <= kLargestShift))
    fail(function, name("SHIFT"), one.shift, "between -1e6 and 1e6");
  if (!(one.spread >= 0 && one.spread <= kLargestScoreSpread))
    fail(function, name("SPREAD"), one.spread, "between 0 and 1e6");
  return one;
}

std::vector<TokenClass> named_classes(std::string_view function, std::string_view argument,
                                      std::string_view text) {
  std::vector<TokenClass> classes;
  for (;;) {
    const std::size_t comma = text.find(',');
    classes.push_back(named_class(function, argument, text.substr(0, comma)));
    if (comma == std::string_view::npos) return classes;
    text.remove_prefix(comma + 1);
  }
}

}  // namespace largo::exact
