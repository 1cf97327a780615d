// What was wrong with a command line, in one line.
#pragma once

#include <optional>
#include <string>

#include <CLI/CLI.hpp>

namespace largo {

/// The first name where a command should stand and none is known by that name, with the command that was
/// probably meant; nothing where there is no such name.
std::optional<std::string> unknown_command(const CLI::App& app);

/// The same, or an argument that the command has no place for: mistakes with --help, too.
std::optional<std::string> wrong_word(const CLI::App& app);

/// What CLI11 refused: which option or argument, what is accepted, and which help says more.
std::string usage_error(const CLI::App& app, const CLI::ParseError& error);

}  // namespace largo
