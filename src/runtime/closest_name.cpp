#include "runtime/closest_name.hpp"

#include <algorithm>
#include <cctype>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace largo::runtime {

std::size_t edit_distance(std::string_view one, std::string_view other) {
  const std::size_t n = other.size();
  std::vector<std::size_t> before(n + 1), above(n + 1), row(n + 1);
  for (std::size_t j = 0; j <= n; ++j) above[j] = j;
  for (std::size_t i = 1; i <= one.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= n; ++j) {
      const std::size_t replaced = above[j - 1] + (one[i - 1] == other[j - 1] ? 0 : 1);
      row[j] = std::min({above[j] + 1, row[j - 1] + 1, replaced});
      if (i > 1 && j > 1 && one[i - 1] == other[j - 2] && one[i - 2] == other[j - 1]) {
        row[j] = std::min(row[j], before[j - 2] + 1);
      }
    }
    std::swap(before, above);
    std::swap(above, row);
  }
  return above[n];
}

namespace {

constexpr std::size_t kLongest = 100;  // characters; a longer name is not a misspelling

std::string folded(std::string_view text) {
  std::string lower(text.substr(0, kLongest));
  for (char& c : lower) c = c == '_' ? '-' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return lower;
}

std::size_t without_dashes(const std::string& name) {
  return name.size() - std::min(name.find_first_not_of('-'), name.size());
}

}  // namespace

std::optional<std::string> closest_name(std::string_view name, const std::vector<std::string>& known) {
  const std::string wanted = folded(name);
  std::optional<std::string> best;
  const std::size_t letters = without_dashes(wanted);
  std::size_t least = std::max<std::size_t>(4, letters + 2);  // twice the distance; beyond it, another word
  for (const std::string& one : known) {
    const std::string other = folded(one);
    const std::size_t distance = edit_distance(wanted, other);
    if (distance >= std::max(letters, without_dashes(other))) continue;  // nothing in common
    std::size_t twice = 2 * distance;
    if (wanted.starts_with(other)) twice = distance;          // a longer form of it
    if (letters > 1 && other.starts_with(wanted)) twice = 1;  // an abbreviation
    if (twice < least) {
      least = twice;
      best = one;
    }
  }
  return best;
}

std::string suggestion(std::string_view name, const std::vector<std::string>& known) {
  if (const auto best = closest_name(name, known)) return fmt::format(" (did you mean '{}'?)", *best);
  return fmt::format(" (known: {})", fmt::join(known, ", "));
}

}  // namespace largo::runtime
