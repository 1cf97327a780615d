#include "arguments.hpp"

#include "largo/measures/named_matrix.hpp"
#include "largo/numerics/parse_numbers.hpp"

namespace largo {

std::string check_given(const std::string& text) { return text.empty() ? "must not be empty" : ""; }

RowMatrix read_queries(const char* command, const std::string& text, std::ptrdiff_t dimension) {
  return named_queries(command, "--query", text, dimension);
}

std::vector<double> read_values(const char* command, const char* option, const std::string& text) {
  return parse_values(command, option, text);
}

}  // namespace largo
