// The parts of an SVG that do not depend on curves: places, short numbers, text and its estimated width.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace largo::report {

// All lengths are in points, 72 to an inch. The sizes are those of a 6.5 inch figure beside 10 point text.
inline constexpr double kTitleSize = 8;
inline constexpr double kLabelSize = 7.5;
inline constexpr double kTickSize = 6.5;  ///< also for legends
inline constexpr double kNoteSize = 6;
inline constexpr double kLineHeight = 1.25;  ///< relative to the text's size
inline constexpr double kCapHeight = 0.73;   ///< from base line to capital top, relative to the text's size
inline constexpr std::string_view kInk = "#262626";

struct Point {
  double x = 0, y = 0;
};

/// y grows downwards, as in SVG: top < bottom.
struct Box {
  double left = 0, top = 0, right = 0, bottom = 0;

  double width() const { return right - left; }
  double height() const { return bottom - top; }
};

/// The text as it may stand in XML text and attributes: & < > " ' are replaced; bytes that are not UTF-8, and
/// characters not allowed in XML 1.0, become U+FFFD; line ends and tabs become spaces.
std::string escaped(std::string_view text);

/// A finite number rounded to two decimals, without trailing zeros and without -0.
std::string number(double value);

/// Rather too wide than too narrow: about that of DejaVu Sans, and other sans-serif fonts are narrower.
double text_width(std::string_view text, double size);

/// Breaks the text at spaces into lines of at most this width; a longer word stands alone.
std::vector<std::string> wrapped(std::string_view text, double size, double width);

enum class Anchor { start, middle, end };

struct TextStyle {
  double size = kTickSize;
  Anchor anchor = Anchor::start;
  std::string_view color = kInk;
  bool upwards = false;  ///< turned by a quarter, reading upwards
  double widest = 1e9;   ///< a wider text is set smaller, down to 60 %
};

/// Adds one line of text with its base line through `at`; `power` is raised after it.
void add_text(std::string& out, Point at, const TextStyle& style, std::string_view text,
              std::string_view power = {});

/// Adds lines one below another, the first at `at`; lines of upwards text run from left to right.
void add_lines(std::string& out, Point at, const TextStyle& style, const std::vector<std::string>& lines);

double lines_height(const std::vector<std::string>& lines, double size);

/// The width of the line that add_text() adds.
double text_width(std::string_view text, std::string_view power, double size);

}  // namespace largo::report
