// largo manual: the manual page largo(1), made from the help of all commands.
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "command.hpp"
#include "command_tree.hpp"
#include "largo/version.hpp"
#include "output.hpp"

namespace largo {
namespace {

// Text of a man page: backslashes and hyphens are shown as they are, and no line begins with a command of
// roff.
std::string roff(const std::string& text) {
  std::string result;
  bool begins = true;
  for (const char c : text) {
    if (begins && (c == '.' || c == '\'')) result += "\\&";
    if (c == '\\') {
      result += "\\e";
    } else if (c == '-') {
      result += "\\-";
    } else {
      result += c;
    }
    begins = c == '\n';
  }
  return result;
}

std::string option_of(const CLI::Option& option) {
  std::string names;
  for (const std::string& name : option.get_snames()) names += fmt::format("\\fB\\-{}\\fR, ", roff(name));
  for (const std::string& name : option.get_lnames()) names += fmt::format("\\fB\\-\\-{}\\fR, ", roff(name));
  if (names.empty()) names = fmt::format("\\fI{}\\fR, ", roff(option.get_name()));
  names.resize(names.size() - 2);
  if (takes_value(option) && !option.get_lnames().empty())
    names += fmt::format(" \\fI{}\\fR", roff(option.get_type_name()));
  const std::string given = option.get_default_str();
  const std::string standard = given.empty() ? "" : fmt::format(" (default: {})", given);
  return fmt::format(".TP\n{}\n{}\n", names, roff(option.get_description() + standard));
}

std::string page(const CLI::App& root) {
  std::string text = fmt::format(
      ".TH LARGO 1 \"\" \"largo {}\" \"User Commands\"\n"
      ".SH NAME\nlargo \\- the large\\-prompt limit of softmax attention\n"
      ".SH SYNOPSIS\n.B largo\n\\fICOMMAND\\fR [\\fIoptions\\fR]\n"
      ".SH DESCRIPTION\n{}\n.PP\n{}\n.SH COMMANDS\n",
      kVersion, roff(root.get_description()),
      "Help of one command: \\fBlargo\\fR \\fICOMMAND\\fR \\fB\\-\\-help\\fR.");
  for (const auto& [path, command] : all_commands(root)) {
    if (path.empty()) continue;
    text += fmt::format(".SS largo {}\n{}\n", roff(path), roff(command->get_description()));
    for (const CLI::Option* option : command->get_options()) text += option_of(*option);
    if (!command->get_footer().empty())
      text += fmt::format(".PP\n.nf\n{}\n.fi\n", roff(command->get_footer()));
  }
  text +=
      ".SH EXIT STATUS\n.TP\n0\nThe work is done.\n.TP\n1\nThe work failed, or a verdict was not as "
      "expected.\n"
      ".TP\n2\nInvalid input; nothing was written.\n.TP\n130\nStopped by a signal.\n";
  return text;
}

}  // namespace

void add_manual_command(CLI::App& app) {
  const auto options = std::make_shared<CommonOptions>();
  CLI::App* const command = app.add_subcommand("manual", "Print the manual page largo(1)");
  add_common_options(*command, *options, {"--seed", "--threads", "--precision"});
  command->footer("Example:\n  largo manual | man -l -");
  command->callback([&app, options] {
    if (options->json) return print_json({{"text", page(app)}});
    fmt::print("{}", page(app));
  });
}

}  // namespace largo
