// The pieces of an SVG that know nothing of curves: places, short numbers, text and its estimated width.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace largo::report {

// All lengths are in points, 72 to an inch. The sizes are those of a 6.5 inch figure beside 10 point text.
inline constexpr double kTitleSize = 8;
inline constexpr double kLabelSize = 7.5;
inline constexpr double kTickSize = 6.5;  ///< also of legends
inline constexpr double kNoteSize = 6;
inline constexpr double kLineHeight = 1.25;  ///< of the text's size
inline constexpr double kCapHeight =
    0.73;  ///< of the text's size: from the base line to the top of a capital
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

/// Fit for XML text and attributes: & < > " ' replaced; U+FFFD for what is not UTF-8 or not allowed in
/// XML 1.0; line ends and tabs become spaces.
std::string escaped(std::string_view text);

/// A finite number rounded to two decimals, without trailing zeros and without -0.
std::string number(double value);

/// Rather too wide than too narrow: a sans-serif is narrower than DejaVu Sans, whose widths these are about.
double text_width(std::string_view text, double size);

/// The text in lines of at most this width, broken at spaces; a longer word stands alone.
std::vector<std::string> wrapped(std::string_view text, double size, double width);

enum class Anchor { start, middle, end };

struct TextStyle {
  double size = kTickSize;
  Anchor anchor = Anchor::start;
  std::string_view color = kInk;
  bool upwards = false;  ///< turned by a quarter, reading from below
  double widest = 1e9;   ///< a longer text is set smaller, down to 60 %
};

/// One line of text with its base line through `at`; `power` is raised behind it.
void add_text(std::string& out, Point at, const TextStyle& style, std::string_view text,
              std::string_view power = {});

/// The lines one below another, the first at `at`; upwards text runs from left to right.
void add_lines(std::string& out, Point at, const TextStyle& style, const std::vector<std::string>& lines);

double lines_height(const std::vector<std::string>& lines, double size);

/// The width of add_text's line.
double text_width(std::string_view text, std::string_view power, double size);

}  // namespace largo::report
