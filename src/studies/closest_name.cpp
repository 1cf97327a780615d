#include "studies/closest_name.hpp"

#include <algorithm>
#include <cctype>

#include <fmt/format.h>

namespace largo {

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

std::string suggestion(std::string_view name, const std::vector<std::string>& known) {
  const auto folded = [](std::string_view text) {
    std::string lower(text.substr(0, 100));  // a longer one is no misspelling
    for (char& c : lower) c = c == '_' ? '-' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    return lower;
  };
  const std::string* best = nullptr;
  std::size_t least = std::max<std::size_t>(2, (name.size() + 2) / 2);  // further is another word
  for (const std::string& one : known) {
    const std::size_t distance = edit_distance(folded(name), folded(one));
    if (distance < least) {
      least = distance;
      best = &one;
    }
  }
  if (best != nullptr) return fmt::format(" (did you mean '{}'?)", *best);
  return fmt::format(" (known: {})", fmt::join(known, ", "));
}

}  // namespace largo
