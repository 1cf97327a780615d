// TOML, which law and study files are written in. toml++ recurses once for each level of a nested value, and
// again when it frees them: a file of 40,000 dotted keys would overrun the stack. So the nesting is bounded
// before it is parsed.
#pragma once

#include <cstddef>
#include <stdexcept>
#include <string>
#include <string_view>

#include <toml++/toml.h>

namespace largo::io {

/// Of brackets within brackets, and of the dots in a key; our files need three.
inline constexpr int kMostTomlLevels = 16;

/// What is wrong, on one line, and where.
class TomlError : public std::runtime_error {
 public:
  TomlError(const std::string& message, std::size_t line) : std::runtime_error(message), line_(line) {}
  std::size_t line() const { return line_; }

 private:
  std::size_t line_;
};

/// Throws TomlError for what is not TOML, or nested deeper than kMostTomlLevels. `name` is the source's.
toml::table parse_toml(std::string_view text, const std::string& name);

}  // namespace largo::io
