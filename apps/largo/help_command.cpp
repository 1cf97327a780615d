// largo help: the help of a command, as `largo COMMAND --help` prints it.
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "command.hpp"
#include "command_tree.hpp"
#include "largo/runtime/check.hpp"
#include "output.hpp"
#include "runtime/closest_name.hpp"

namespace largo {
namespace {

struct HelpOptions : CommonOptions {
  std::vector<std::string> words;
};

std::string help_of(const CLI::App& root, const std::vector<std::string>& words) {
  const CLI::App* command = &root;
  std::string name = root.get_name();
  for (const std::string& word : words) {
    const std::vector<std::string> known = names_of_commands(*command);
    if (known.empty())
      fail("help", fmt::format("'{}' is one word too many: {} has no commands of its own", word, name));
    if (std::find(known.begin(), known.end(), word) == known.end())
      fail("help",
           fmt::format("'{}' is not a command of {}{}", word, name, runtime::suggestion(word, known)));
    command = command->get_subcommand(word);
    name += ' ' + word;
  }
  // Not App::help(), which goes on to the command that is running: this one.
  return command->get_formatter()->make_help(command, name, CLI::AppFormatMode::Normal);
}

}  // namespace

void add_help_command(CLI::App& app) {
  const auto options = std::make_shared<HelpOptions>();
  CLI::App* const command = app.add_subcommand("help", "Show the help of a command");
  command->add_option("command", options->words,
                      "The command, such as moments or icl train (default: largo itself)");
  add_common_options(*command, *options, {"--seed", "--threads", "--precision"});
  command->footer("Example:\n  largo help icl train");
  command->callback([&app, options] {
    const std::string text = help_of(app, options->words);
    if (options->json) return print_json({{"text", text}});
    fmt::print("{}", text);
  });
}

}  // namespace largo
