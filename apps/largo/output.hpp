// Numbers on standard output: JSON for programs, short tables for people.
#pragma once

#include <string>

#include <nlohmann/json.hpp>

#include "largo/numerics/matrix.hpp"

namespace largo {

/// Keys in the order they were added.
using Json = nlohmann::ordered_json;

Json to_json(const ConstMatrixRef& matrix);
/// Entries of a row-major vector as a rows x columns array.
Json to_json(const ConstVectorRef& values, std::ptrdiff_t rows, std::ptrdiff_t columns);

/// One object, and nothing else, on standard output. nlohmann-json writes NaN as null, so finiteness is
/// checked first: a number that is not finite is an error, not an answer.
void print_json(const Json& json);

/// "(1.25, -0.5, …)", six significant digits, at most eight entries.
std::string short_list(const ConstVectorRef& values);

}  // namespace largo
