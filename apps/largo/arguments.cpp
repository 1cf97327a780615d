#include "arguments.hpp"

#include <cmath>
#include <optional>
#include <string_view>

#include <fmt/core.h>

#include "largo/measures/named_matrix.hpp"
#include "largo/numerics/check.hpp"
#include "largo/numerics/parse_numbers.hpp"

namespace largo {

std::string check_given(const std::string& text) { return text.empty() ? "must not be empty" : ""; }

RowMatrix read_queries(const char* command, const std::string& text, std::ptrdiff_t dimension) {
  if (text.find_first_not_of("0123456789+-.eE,; ") != std::string::npos) {
    const std::string_view name = std::string_view(text).substr(text.find('*') + 1);
    const bool one = name.starts_with("random:") || name == "zeros";
    return named_matrix("--query", text, one ? std::optional<std::ptrdiff_t>(1) : std::nullopt, dimension);
  }
  std::vector<double> all;
  std::ptrdiff_t rows = 0;
  std::string_view rest = text;
  while (true) {
    const auto end = rest.find(';');
    const std::vector<double> one = parse_numbers("--query", rest.substr(0, end));
    check_size(command, "--query", std::ssize(one), dimension);
    all.insert(all.end(), one.begin(), one.end());
    ++rows;
    if (end == std::string_view::npos) break;
    rest.remove_prefix(end + 1);
  }
  return Eigen::Map<const RowMatrix>(all.data(), rows, dimension);
}

std::vector<double> read_values(const char* command, const char* option, const std::string& text) {
  constexpr double kMostValues = 1e6;
  const auto first_colon = text.find(':');
  if (first_colon == std::string::npos) return parse_numbers(option, text);
  const auto second_colon = text.find(':', first_colon + 1);
  if (second_colon == std::string::npos) {
    fail(command, option, fmt::format("'{}'", text), "a list, or FIRST:LAST:COUNT");
  }
  const std::string_view view = text;
  const double first = parse_number(option, view.substr(0, first_colon));
  const double last = parse_number(option, view.substr(first_colon + 1, second_colon - first_colon - 1));
  const double count = parse_number(option, view.substr(second_colon + 1));
  if (!(count >= 2 && count <= kMostValues) || count != std::floor(count)) {
    fail(command, fmt::format("number of values in {}", option), count, "a whole number between 2 and 1e6");
  }
  std::vector<double> values;
  for (int i = 0; i < static_cast<int>(count); ++i) {
    values.push_back(((count - 1 - i) * first + i * last) / (count - 1));
  }
  return values;
}

}  // namespace largo
