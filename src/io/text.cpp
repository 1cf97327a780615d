#include "io/text.hpp"

#include <cstddef>
#include <iterator>

#include <fmt/format.h>

namespace largo::io {
namespace {

constexpr std::size_t kLongestQuote = 60;

void append_escaped(std::string& out, unsigned char c) {
  switch (c) {
    case '\n': out += "\\n"; break;
    case '\r': out += "\\r"; break;
    case '\t': out += "\\t"; break;
    default: fmt::format_to(std::back_inserter(out), "\\x{:02x}", c);
  }
}

}  // namespace

std::string one_line(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7f) {
      append_escaped(out, byte);
    } else {
      out += c;
    }
  }
  return out;
}

std::string in_quotes(std::string_view text) {
  std::string out = "'";
  for (const char c : text.substr(0, kLongestQuote)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte >= 0x7f) {
      append_escaped(out, byte);
    } else {
      out += c;
    }
  }
  out += text.size() > kLongestQuote ? "...'" : "'";
  return out;
}

}  // namespace largo::io
