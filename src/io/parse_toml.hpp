// TOML, the format of law and study files. toml++ recurses once for each level of a nested value, and again
// when it frees the value: a file of 40,000 dotted keys would overflow the stack. The nesting is therefore
// checked before the text is parsed.
#pragma once

#include <cstddef>
#include <stdexcept>
#include <string>
#include <string_view>

#include <toml++/toml.h>

namespace largo::io {

/// Limit on brackets within brackets, and on the dots in a key; our files need three.
inline constexpr int kMostTomlLevels = 16;

/// Says what is wrong, on one line, and where.
class TomlError : public std::runtime_error {
 public:
  TomlError(const std::string& message, std::size_t line) : std::runtime_error(message), line_(line) {}
  std::size_t line() const { return line_; }

 private:
  std::size_t line_;
};

/// Throws TomlError if the text is not TOML or nested deeper than kMostTomlLevels. `name` names the source.
toml::table parse_toml(std::string_view text, const std::string& name);

}  // namespace largo::io
