// What was wrong with a command line, in one line that fits a terminal.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <CLI/CLI.hpp>

namespace largo {

/// A message about the first word that should be a command but is not, with the command that was probably
/// meant; nothing if there is no such word.
std::optional<std::string> unknown_command(const CLI::App& app);

/// The same, or a message about an argument too many. These are mistakes even with --help.
std::optional<std::string> wrong_word(const CLI::App& app);

/// A message about what CLI11 refused: the option or argument, what is accepted, and which help says more.
std::string usage_error(const CLI::App& app, const CLI::ParseError& error);

/// The text on one line. Control characters become \n or \x1b, and bytes that are not UTF-8 become \xff.
/// Words of more than 100 bytes keep the first 60 and the last 20, with … between them. The whole is
/// shortened in the same way to at most 1000 bytes.
std::string shortened_line(std::string_view text);

}  // namespace largo
