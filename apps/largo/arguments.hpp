// Arguments that several commands read in the same way.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "largo/runtime/matrix.hpp"

namespace largo {

/// An option whose value is a text. An empty text is a mistake, not the default: it may come from a shell
/// variable that is not set.
CLI::Option* add_text_option(CLI::App& command, const std::string& name, std::string& text,
                             const std::string& help);
/// --d, for a law that may be of any dimension.
void add_dimension_option(CLI::App& command, std::optional<std::ptrdiff_t>& dimension);

/// For CLI::Option::transform: a whole number in decimal notation, 10000 or 1e4, between `least` and `most`.
/// (CLI11 itself would read 010 as eight, and -1 as some large seed.)
CLI::Validator whole_number(std::uint64_t least, std::uint64_t most);

enum class Sign { any, non_negative, positive };

/// For CLI::Option::transform: a finite number in decimal notation. (CLI11 itself would read 0x1p3 and nan.)
CLI::Validator finite_number(Sign sign = Sign::any);
/// The same, for a number between `least` and `most`.
CLI::Validator number_between(double least, double most);
/// A positive number, or inf.
CLI::Validator positive_or_inf();

/// For CLI::Option::check: one of these names.
CLI::Validator one_of(const std::vector<std::string>& names);

/// Reads "1,0,-1", several queries separated by semicolons, or a matrix (by name or from a file) with one
/// query per row.
RowMatrix read_queries(const char* command, const std::string& text, std::ptrdiff_t dimension);

/// Reads a list, or "0:6:13": 13 evenly spaced values from 0 to 6.
std::vector<double> read_values(const char* command, const char* option, const std::string& text);

}  // namespace largo
