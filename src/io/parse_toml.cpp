#include "io/parse_toml.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "io/text.hpp"

namespace largo::io {
namespace {

// Scans the text as far as toml++ would read it: the two agree on where strings and comments end, up to the
// first mistake, where the parser stops.
class Levels {
 public:
  explicit Levels(std::string_view text) : left_(text) {}

  void check() {
    while (!left_.empty()) {
      const char c = left_.front();
      if (c == '"' || c == '\'') {
        skip_text(c);
        continue;
      }
      if (c == '#') {
        left_.remove_prefix(std::min(left_.find('\n'), left_.size()));
        continue;
      }
      look_at(c);
      left_.remove_prefix(1);
    }
  }

 private:
  // The dots since the last character that no key contains are at least those of the current key.
  void look_at(char c) {
    switch (c) {
      case '.': deeper(++dots_); return;
      case '[':
      case '{': deeper(++brackets_); break;
      case ']':
      case '}': brackets_ = std::max(0, brackets_ - 1); break;
      case '\n': ++line_; break;
      case '=':
      case ',': break;
      default: return;
    }
    dots_ = 0;
  }

  void deeper(int level) const {
    if (level > kMostTomlLevels) {
      throw TomlError(fmt::format("values are nested more than {} deep", kMostTomlLevels), line_);
    }
  }

  void skip_text(char quote) {
    const std::string three(3, quote);
    const bool lines = left_.starts_with(three);
    left_.remove_prefix(lines ? 3 : 1);
    while (!left_.empty()) {
      const char c = left_.front();
      if (c == '\n') {
        if (!lines) return;  // a mistake that the parser will report
        ++line_;
      }
      if (lines ? left_.starts_with(three) : c == quote) {
        left_.remove_prefix(lines ? 3 : 1);
        // one or two quotes that belong to the text may precede the closing """
        for (int more = 0; lines && more < 2 && left_.starts_with(quote); ++more) left_.remove_prefix(1);
        return;
      }
      const bool escape = quote == '"' && c == '\\' && left_.size() > 1 && left_[1] != '\n';
      left_.remove_prefix(escape ? 2 : 1);
    }
  }

  std::string_view left_;
  std::size_t line_ = 1;
  int dots_ = 0, brackets_ = 0;
};

}  // namespace

toml::table parse_toml(std::string_view text, const std::string& name) {
  Levels(text).check();
  try {
    return toml::parse(text, name);
  } catch (const toml::parse_error& error) {
    throw TomlError(one_line(error.description()), error.source().begin.line);  // may quote a line break
  }
}

}  // namespace largo::io
