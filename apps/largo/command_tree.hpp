// The commands of the program as a list, for what is made from all of them: completions, the manual.
#pragma once

#include <string>
#include <vector>

#include <CLI/CLI.hpp>

namespace largo {

struct CommandNode {
  std::string path;  ///< the words after "largo": "icl risk"; empty for the program itself
  const CLI::App* command;
};

/// The program, then its commands in the order of its help, each followed by its own commands.
std::vector<CommandNode> all_commands(const CLI::App& root);

/// "--seed" and the like, without those of one letter; --help comes first.
std::vector<const CLI::Option*> named_options(const CLI::App& command);
/// The names of the commands of a command.
std::vector<std::string> names_of_commands(const CLI::App& command);
/// The values of an option that takes one of a few words: "auto", "float32", "float64"; otherwise nothing.
std::vector<std::string> values_of(const CLI::Option& option);
bool takes_value(const CLI::Option& option);

void add_completion_command(CLI::App& app);
void add_help_command(CLI::App& app);
void add_manual_command(CLI::App& app);

}  // namespace largo
