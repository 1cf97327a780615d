// Arguments that several commands read alike.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "largo/runtime/matrix.hpp"

namespace largo {

inline constexpr std::uint64_t kLargestDimension = std::uint64_t{1} << 20;  ///< a matrix of it fills 8 TB

/// For CLI::Option::check: an empty text, from a shell variable that is not set, say, is a mistake and not
/// the default.
std::string check_given(const std::string& text);

/// For CLI::Option::transform: a whole number in decimal notation, 10000 or 1e4, between the two. (CLI11
/// itself would read 010 as eight, and -1 as some large seed.)
CLI::Validator whole_number(std::uint64_t least, std::uint64_t most);

enum class Sign { any, non_negative, positive };

/// For CLI::Option::transform: a finite number in decimal notation. (CLI11 itself would read 0x1p3 and nan.)
CLI::Validator finite_number(Sign sign = Sign::any);
/// The same, between the two.
CLI::Validator number_between(double least, double most);
/// A positive number, or inf.
CLI::Validator positive_or_inf();

/// For CLI::Option::check: one of these names.
CLI::Validator one_of(const std::vector<std::string>& names);

/// "1,0,-1", several queries separated by semicolons, or a matrix by name or from a file, one query a row.
RowMatrix read_queries(const char* command, const std::string& text, std::ptrdiff_t dimension);

/// "0:6:13": 13 values from 0 to 6, evenly spaced; or a list.
std::vector<double> read_values(const char* command, const char* option, const std::string& text);

}  // namespace largo
