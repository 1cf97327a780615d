// largo completion: what a shell needs to complete the commands, options and values of largo, made from the
// options themselves.
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "arguments.hpp"
#include "command.hpp"
#include "command_tree.hpp"
#include "output.hpp"

namespace largo {
namespace {

std::vector<std::string> words_after(const CLI::App& command) {
  std::vector<std::string> words = names_of_commands(command);
  for (const CLI::Option* option : named_options(command)) {
    for (const std::string& name : option->get_lnames()) words.push_back("--" + name);
  }
  return words;
}

// The part that bash and zsh share: which command the words so far name, and what may follow it.
std::string tables(const std::vector<CommandNode>& commands) {
  std::string reached, values, words;
  for (const auto& [path, command] : commands) {
    if (!path.empty()) reached += fmt::format("      '{}') command='{}' ;;\n", path, path);
    for (const CLI::Option* option : named_options(*command)) {
      const std::vector<std::string> known = values_of(*option);
      for (const std::string& name : option->get_lnames()) {
        if (!known.empty()) {
          values += fmt::format("    '{} --{}') words='{}' ;;\n", path, name, fmt::join(known, " "));
        } else if (takes_value(*option)) {
          values += fmt::format("    '{} --{}') files=yes ;;\n", path, name);
        }
      }
    }
    words += fmt::format("      '{}') words='{}' ;;\n", path, fmt::join(words_after(*command), " "));
  }
  return fmt::format(R"(  for word in "${{before[@]}}"; do
    case "${{command:+$command }}$word" in
{}    esac
  done
  case "$command $previous" in
{}    *) case "$command" in
{}    esac ;;
  esac
)",
                     reached, values, words);
}

std::string for_bash(const std::vector<CommandNode>& commands) {
  return fmt::format(R"(# Completion of largo for bash. Made by: largo completion bash
_largo() {{
  local current=${{COMP_WORDS[COMP_CWORD]}} previous=${{COMP_WORDS[COMP_CWORD-1]}}
  local before=("${{COMP_WORDS[@]:1:COMP_CWORD-1}}") command='' word words='' files=no
  COMPREPLY=()
{}  # Where a command takes files, words are offered once they begin.
  if [ "$files" = no ] && {{ [ -n "$current" ] || [[ $words != --* ]]; }}; then
    COMPREPLY=($(compgen -W "$words" -- "$current"))
  fi
}}
complete -o default -F _largo largo
)",
                     tables(commands));
}

std::string for_zsh(const std::vector<CommandNode>& commands) {
  return fmt::format(R"(#compdef largo
# Completion of largo for zsh. Made by: largo completion zsh
_largo() {{
  local previous=${{words[CURRENT-1]}} command='' word files=no
  local -a before
  before=("${{(@)words[2,CURRENT-1]}}")
  local words=''
{}  if [[ $files = yes ]]; then
    _files
  else
    compadd -- ${{=words}}
    if [[ $words = --* ]]; then _files; fi
  fi
}}
if [[ $zsh_eval_context[-1] = loadautofunc ]]; then
  _largo "$@"
else
  compdef _largo largo
fi
)",
                     tables(commands));
}

// In single quotes for fish.
std::string quoted(const std::string& text) {
  std::string result = "'";
  for (const char c : text) {
    if (c == '\'' || c == '\\') result += '\\';
    result += c;
  }
  return result + '\'';
}

std::string for_fish(const std::vector<CommandNode>& commands) {
  std::string lines = R"(# Completion of largo for fish. Made by: largo completion fish
function __largo_command --description 'The command of largo in the words so far'
    set -l found
    for word in (commandline -opc)[2..-1]
        switch "$found $word"
)";
  for (const auto& [path, command] : commands) {
    if (path.empty()) continue;
    const std::size_t cut = path.rfind(' ');
    const std::string before = cut == std::string::npos ? "" : path.substr(0, cut);
    lines += fmt::format("            case '{} {}'\n                set found '{}'\n", before,
                         path.substr(cut + 1), path);
  }
  lines += R"(        end
    end
    test "$found" = "$argv"
end
)";
  for (const auto& [path, command] : commands) {
    const std::string when = fmt::format("complete -c largo -n \"__largo_command '{}'\"", path);
    for (const CLI::App* one : command->get_subcommands({}))
      lines += fmt::format("{} -f -a {} -d {}\n", when, one->get_name(), quoted(one->get_description()));
    for (const CLI::Option* option : named_options(*command)) {
      const std::vector<std::string> known = values_of(*option);
      const char* const kind = !known.empty() ? " -x" : takes_value(*option) ? " -r" : "";
      std::string values = known.empty() ? "" : fmt::format(" -a '{}'", fmt::join(known, " "));
      for (const std::string& name : option->get_lnames())
        lines +=
            fmt::format("{} -l {}{}{} -d {}\n", when, name, kind, values, quoted(option->get_description()));
    }
  }
  return lines;
}

struct CompletionOptions : CommonOptions {
  std::string shell;
};

}  // namespace

void add_completion_command(CLI::App& app) {
  const auto options = std::make_shared<CompletionOptions>();
  CLI::App* const command = app.add_subcommand("completion", "Print the completion of largo for a shell");
  command->add_option("shell", options->shell, "bash, zsh or fish")
      ->required()
      ->check(one_of({"bash", "zsh", "fish"}));
  add_common_options(*command, *options, {"--seed", "--threads", "--precision"});
  command->footer(
      "cmake --install puts all three where the shells look. By hand:\n"
      "  largo completion bash > ~/.local/share/bash-completion/completions/largo\n"
      "  largo completion zsh > \"${fpath[1]}/_largo\"\n"
      "  largo completion fish > ~/.config/fish/completions/largo.fish\n\n"
      "Example:\n  largo completion bash");
  command->callback([&app, options] {
    const std::vector<CommandNode> commands = all_commands(app);
    const std::string text = options->shell == "bash"  ? for_bash(commands)
                             : options->shell == "zsh" ? for_zsh(commands)
                                                       : for_fish(commands);
    if (options->json) return print_json({{"text", text}});
    fmt::print("{}", text);
  });
}

}  // namespace largo
