#include "usage.hpp"

#include <algorithm>
#include <cstddef>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "command_tree.hpp"
#include "runtime/closest_name.hpp"

namespace largo {

namespace {

// The last command given: `largo icl train` in `largo icl train --setps 3`.
const CLI::App& reached(const CLI::App& app) {
  const CLI::App* at = &app;
  while (!at->get_subcommands().empty()) at = at->get_subcommands().back();
  return *at;
}

std::string full_name(const CLI::App& command) {
  if (command.get_parent() == nullptr) return command.get_name();
  return fmt::format("{} {}", full_name(*command.get_parent()), command.get_name());
}

std::vector<std::string> names_of_options(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

// Whether the argument is an option, and not a negative number.
bool is_option(const std::string& argument) {
  return argument.size() > 1 && argument[0] == '-' && argument.find_first_of("0123456789.") != 1;
}

// If --dim is unknown, the 3 in "--dim 3" is its value; "--dim=3" contains its value.
bool may_take_the_next(const std::string& argument) {
  return is_option(argument) && argument.find('=') == std::string::npos;
}

// The first word that the command has no use for. A word after an unknown option may be its value and does
// not count, unless a command is still missing: then the word is taken for the name of that command.
std::optional<std::string> stray_word(const CLI::App& command) {
  const std::vector<std::string> extras = command.remaining();
  const bool lacks_command = command.get_subcommands().empty() && !names_of_commands(command).empty();
  for (std::size_t i = 0; i < extras.size(); ++i) {
    if (is_option(extras[i])) continue;
    if (lacks_command || i == 0 || !may_take_the_next(extras[i - 1])) return extras[i];
  }
  return std::nullopt;
}

// "--dim=3" is about --dim.
std::string option_name(const std::string& argument) { return argument.substr(0, argument.find('=')); }

std::string did_you_mean(const std::string& name, const std::vector<std::string>& known) {
  const auto closest = runtime::closest_name(name, known);
  return closest ? fmt::format("; did you mean {}?", *closest) : "";
}

std::string one_too_many(const CLI::App& command, const std::string& word) {
  return fmt::format("'{}' is one argument too many for {}", word, full_name(command));
}

std::string with_help(const CLI::App& command, const std::string& what) {
  return fmt::format("{} ({} --help explains it)", what, full_name(command));
}

std::string about_extras(const CLI::App& app, const std::vector<std::string>& extras) {
  const CLI::App& command = reached(app);
  const auto option = std::find_if(extras.begin(), extras.end(), is_option);
  if (option == extras.end()) return one_too_many(command, extras.front());
  const std::string name = option_name(*option);
  const std::vector<std::string> known = names_of_options(command);
  if (std::find(known.begin(), known.end(), name) != known.end()) {  // before the command, or between two
    return fmt::format("{} must come after {}", name, full_name(command));
  }
  return fmt::format("'{}' is not an option of {}{}", name, full_name(command), did_you_mean(name, known));
}

// The message of CLI11, reworded if it does not say what to do.
std::string in_other_words(const CLI::App& command, const CLI::ParseError& error) {
  const std::string text = error.what();
  const auto option_of = [&] { return text.substr(0, text.find(':')); };
  if (dynamic_cast<const CLI::RequiredError*>(&error) != nullptr && text.starts_with("A subcommand")) {
    return fmt::format("a command is missing: {} has {}", full_name(command),
                       fmt::join(names_of_commands(command), ", "));
  }
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&error) != nullptr) {
    if (const auto end = text.find(" was given a disallowed"); end != std::string::npos) {
      return fmt::format("--{} takes no value", text.substr(0, end));  // CLI11 omits the dashes there
    }
    if (text.ends_with(" missing")) return fmt::format("{} needs a value", option_of());
    if (text.find("At Most 1 required") != std::string::npos)
      return fmt::format("{} is given twice", option_of());
  }
  return text;
}

}  // namespace

std::optional<std::string> unknown_command(const CLI::App& app) {
  const std::vector<std::string> known = names_of_commands(app);
  if (known.empty()) return std::nullopt;
  if (const auto name = stray_word(app)) {
    return fmt::format("'{}' is not a command of {}{} ({} --help lists them)", *name, full_name(app),
                       did_you_mean(*name, known), full_name(app));
  }
  const std::vector<CLI::App*> next = app.get_subcommands();
  return next.empty() ? std::nullopt : unknown_command(*next.back());
}

std::optional<std::string> wrong_word(const CLI::App& app) {
  if (auto unknown = unknown_command(app)) return unknown;
  const CLI::App& command = reached(app);
  const auto word = stray_word(command);
  return word ? std::optional(with_help(command, one_too_many(command, *word))) : std::nullopt;
}

std::string usage_error(const CLI::App& app, const CLI::ParseError& error) {
  const CLI::App& command = reached(app);
  const std::vector<std::string> extras = app.remaining(true);
  const std::string what = extras.empty() ? in_other_words(command, error) : about_extras(app, extras);
  return with_help(command, what);
}

namespace {

constexpr std::size_t kLongestWord = 100, kWordHead = 60, kWordTail = 20;
constexpr std::size_t kLongestLine = 1000, kLineHead = 700, kLineTail = 250;

// The length in bytes of the first character; 0 if it is not valid UTF-8.
std::size_t utf8_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const std::size_t length = byte(0) < 0x80                      ? 1
                             : byte(0) >= 0xc2 && byte(0) < 0xe0 ? 2
                             : byte(0) >= 0xe0 && byte(0) < 0xf0 ? 3
                             : byte(0) >= 0xf0 && byte(0) < 0xf5 ? 4
                                                                 : 0;
  if (length > text.size()) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
  }
  return length;
}

// U+0080 to U+009F are control characters, too: c2 80 to c2 9f.
bool is_control(std::string_view character) {
  const auto first = static_cast<unsigned char>(character[0]);
  if (character.size() == 2) return first == 0xc2 && static_cast<unsigned char>(character[1]) < 0xa0;
  return first < 0x20 || first == 0x7f;
}

std::string escaped(std::string_view text) {
  std::string line;
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    const std::string_view character = text.substr(0, length == 0 ? 1 : length);
    text.remove_prefix(character.size());
    if (length > 0 && !is_control(character)) {
      line += character;
    } else if (character == "\n") {
      line += "\\n";
    } else if (character == "\t") {
      line += "\\t";
    } else {
      for (const char c : character) line += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    }
  }
  return line;
}

bool inside_a_character(char c) { return (static_cast<unsigned char>(c) & 0xc0) == 0x80; }

// The first `head` and the last `tail` bytes of the text, or a little less, in whole characters.
std::string without_middle(std::string_view text, std::size_t head, std::size_t tail) {
  std::size_t end = head, begin = text.size() - tail;
  while (end > 0 && inside_a_character(text[end])) --end;
  while (begin < text.size() && inside_a_character(text[begin])) ++begin;
  return fmt::format("{}…{}", text.substr(0, end), text.substr(begin));
}

}  // namespace

std::string shortened_line(std::string_view text) {
  const std::string whole = escaped(text);
  std::string line;
  for (std::string_view rest = whole; !rest.empty();) {
    const std::size_t end = std::min(rest.find(' '), rest.size());
    const std::string_view word = rest.substr(0, end);
    line += word.size() > kLongestWord ? without_middle(word, kWordHead, kWordTail) : std::string(word);
    if (end < rest.size()) line += ' ';
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return line.size() > kLongestLine ? without_middle(line, kLineHead, kLineTail) : line;
}

}  // namespace largo
