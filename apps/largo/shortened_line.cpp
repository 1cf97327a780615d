#include "shortened_line.hpp"

#include <algorithm>
#include <cstddef>

#include <fmt/format.h>

namespace largo {
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
