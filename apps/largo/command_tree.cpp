#include "command_tree.hpp"

#include <algorithm>

namespace largo {
namespace {

void append(std::vector<CommandNode>& list, const CLI::App& command, const std::string& path) {
  list.push_back({path, &command});
  for (const CLI::App* one : command.get_subcommands({}))
    append(list, *one, path.empty() ? one->get_name() : path + ' ' + one->get_name());
}

}  // namespace

std::vector<CommandNode> all_commands(const CLI::App& root) {
  std::vector<CommandNode> list;
  append(list, root, "");
  return list;
}

std::vector<const CLI::Option*> named_options(const CLI::App& command) {
  std::vector<const CLI::Option*> options;
  for (const CLI::Option* option : command.get_options()) {
    if (!option->get_lnames().empty()) options.push_back(option);
  }
  return options;
}

std::vector<std::string> names_of_commands(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::App* one : command.get_subcommands({})) names.push_back(one->get_name());
  return names;
}

std::vector<std::string> values_of(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  const std::size_t open = type.find('{'), close = type.rfind('}');
  std::vector<std::string> values;
  if (open == std::string::npos || close == std::string::npos || close < open) return values;
  for (std::size_t from = open + 1; from < close;) {
    const std::size_t to = std::min(type.find(',', from), close);
    values.push_back(type.substr(from, to - from));
    from = to + 1;
  }
  return values;
}

bool takes_value(const CLI::Option& option) { return option.get_items_expected_max() > 0; }

}  // namespace largo
