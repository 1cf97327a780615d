// JSON, as all of largo writes it.
#pragma once

#include <string>

#include <nlohmann/json.hpp>

namespace largo::io {

/// Keys keep the order in which they were added.
using Json = nlohmann::ordered_json;

/// A whole number below 2^53 becomes an integer, and an infinity the text "inf" or "-inf", since JSON has
/// none. NaN stays NaN for check_numbers() to find: a number that is not finite is an error, not an answer.
Json number_json(double value);

/// Throws std::runtime_error if there is a NaN, or an infinity that is not a text. Call it before anything is
/// written: nlohmann-json would write null.
void check_numbers(const Json& json);

/// On one line, or indented. Bytes that are not UTF-8 (in the name of a file) become U+FFFD.
std::string to_text(const Json& json, int indent = -1);

}  // namespace largo::io
