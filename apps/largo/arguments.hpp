// Arguments that several commands read alike.
#pragma once

#include <string>
#include <vector>

#include "largo/numerics/matrix.hpp"

namespace largo {

/// For CLI::Option::check: an empty text, from a shell variable that is not set, say, is a mistake and not
/// the default.
std::string check_given(const std::string& text);

/// "1,0,-1", several queries separated by semicolons, or a matrix by name or from a file, one query a row.
RowMatrix read_queries(const char* command, const std::string& text, std::ptrdiff_t dimension);

/// "0:6:13": 13 values from 0 to 6, evenly spaced; or a list.
std::vector<double> read_values(const char* command, const char* option, const std::string& text);

}  // namespace largo
