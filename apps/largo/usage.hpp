// What was wrong with a command line, in one line.
#pragma once

#include <optional>
#include <string>

#include <CLI/CLI.hpp>

namespace largo {

/// A message about the first word that should be a command but is not, with the command that was probably
/// meant; nothing if there is no such word.
std::optional<std::string> unknown_command(const CLI::App& app);

/// The same, or a message about an argument too many. These are mistakes even with --help.
std::optional<std::string> wrong_word(const CLI::App& app);

/// A message about what CLI11 refused: the option or argument, what is accepted, and which help says more.
std::string usage_error(const CLI::App& app, const CLI::ParseError& error);

}  // namespace largo
