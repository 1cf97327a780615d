#include "report/svg_text.hpp"

#include <algorithm>
#include <cstddef>
#include <iterator>

#include <fmt/format.h>

namespace largo::report {
namespace {

constexpr char32_t kReplacement = 0xfffd;
constexpr double kPowerSize = 0.72;  // size of a raised exponent, relative to the text's

struct Character {
  char32_t code = kReplacement;
  std::size_t bytes = 1;
};

// The character that begins `text`, which is not empty; bytes that are not UTF-8 are replaced one by one.
Character decode(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return {first, 1};
  const std::size_t size = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || text.size() < size) return {};
  char32_t code = first & (0xffU >> (size + 1));
  for (std::size_t i = 1; i < size; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return {};
    code = code << 6 | (byte(i) & 0x3fU);
  }
  constexpr char32_t kSmallest[] = {0, 0, 0x80, 0x800, 0x10000};
  if (code < kSmallest[size] || code > 0x10ffff || (code >= 0xd800 && code < 0xe000)) return {};
  return {code, size};
}

// In ems. Groups of letters are accurate enough: the sum over a label is right to a few per cent.
double character_width(char32_t code) {
  const auto among = [&](std::string_view group) {
    return code < 0x80 && group.find(static_cast<char>(code)) != std::string_view::npos;
  };
  if (among("ijl'| .,:;!()[]/\\ftrI-")) return 0.36;
  if (among("mwMW%@+<=>~#&OQGDHNU")) return 0.84;
  if (code >= 0x300 && code < 0x370) return 0;                      // combining
  if (code >= 0x2190) return code >= 0x2e80 ? 1.0 : 0.85;           // mathematics; ideographs
  if (code >= 0x2070 || code == 0xb2 || code == 0xb3) return 0.42;  // raised and lowered digits
  return 0.65;
}

}  // namespace

std::string escaped(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const Character c = decode(text);
    const std::string_view bytes = text.substr(0, c.bytes);
    text.remove_prefix(c.bytes);
    constexpr std::string_view kSpecial = "&<>\"'";
    constexpr std::string_view kNames[] = {"&amp;", "&lt;", "&gt;", "&quot;", "&#39;"};
    if (const std::size_t i = kSpecial.find(bytes); i != std::string_view::npos) {
      out += kNames[i];
    } else if (c.code == '\n' || c.code == '\r' || c.code == '\t') {
      out += ' ';
    } else {
      // The replacement for a broken byte looks like a replacement character that was in the text.
      const bool allowed = c.code >= 0x20 && c.code != 0xfffe && c.code != 0xffff && c.code != kReplacement;
      out += allowed ? bytes : std::string_view("\xef\xbf\xbd");
    }
  }
  return out;
}

std::string number(double value) {
  std::string digits = fmt::format("{:.2f}", value);
  digits.erase(digits.find_last_not_of('0') + 1);
  if (digits.back() == '.') digits.pop_back();
  return digits == "-0" ? "0" : digits;
}

double text_width(std::string_view text, double size) {
  double width = 0;
  while (!text.empty()) {
    const Character c = decode(text);
    text.remove_prefix(c.bytes);
    width += character_width(c.code);
  }
  return width * size;
}

double text_width(std::string_view text, std::string_view power, double size) {
  return text_width(text, size) + text_width(power, kPowerSize * size);
}

std::vector<std::string> wrapped(std::string_view text, double size, double width) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find_first_of(" \n\r\t"), text.size());
    const std::string_view word = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (word.empty()) continue;
    if (!lines.empty() && text_width(fmt::format("{} {}", lines.back(), word), size) <= width) {
      lines.back() += ' ';
      lines.back() += word;
    } else {
      lines.emplace_back(word);
    }
  }
  return lines;
}

void add_text(std::string& out, Point at, const TextStyle& style, std::string_view text,
              std::string_view power) {
  constexpr std::string_view kAnchors[] = {"", R"( text-anchor="middle")", R"( text-anchor="end")"};
  const double width = text_width(text, power, style.size);
  const double size = width > style.widest ? style.size * std::max(0.6, style.widest / width) : style.size;
  const auto place =
      style.upwards ? fmt::format("transform=\"translate({} {}) rotate(-90)\"", number(at.x), number(at.y))
                    : fmt::format("x=\"{}\" y=\"{}\"", number(at.x), number(at.y));
  const std::string color = style.color == kInk ? "" : fmt::format(R"( fill="{}")", style.color);
  fmt::format_to(std::back_inserter(out), R"(<text {} font-size="{}"{}{}>{})", place, number(size),
                 kAnchors[static_cast<std::size_t>(style.anchor)], color, escaped(text));
  if (!power.empty()) {
    fmt::format_to(std::back_inserter(out), R"(<tspan dy="{}" font-size="{}">{}</tspan>)",
                   number(-0.4 * size), number(kPowerSize * size), escaped(power));
  }
  out += "</text>\n";
}

void add_lines(std::string& out, Point at, const TextStyle& style, const std::vector<std::string>& lines) {
  for (const std::string& line : lines) {
    add_text(out, at, style, line);
    (style.upwards ? at.x : at.y) += kLineHeight * style.size;
  }
}

double lines_height(const std::vector<std::string>& lines, double size) {
  return size * kLineHeight * static_cast<double>(lines.size());
}

}  // namespace largo::report
