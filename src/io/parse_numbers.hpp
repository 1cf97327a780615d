// Numbers in options and study files: single numbers, lists, and prompt lengths.
#pragma once

#include <string_view>
#include <vector>

namespace largo::io {

/// One finite number in decimal notation, which must be the whole text: "0.5", "1e6", "+2". `argument` names
/// it in the message.
double parse_number(std::string_view argument, std::string_view text);

/// Whether the text is a nonzero number to which 0 is the nearest double, such as "1e-400". It is refused,
/// since 0 is a different number.
bool is_too_small(std::string_view text);
inline constexpr std::string_view kTooSmall = "too small for a double, below 5e-324";  ///< for the message

/// A list such as "1,0,-1".
std::vector<double> parse_numbers(std::string_view argument, std::string_view text);

enum class Spacing { kEven, kLog };

/// A list, or a range: "0:6:13" is 13 values from 0 to 6, spaced evenly (or evenly in log, for positive
/// ends). `function` is the caller's name in the message.
std::vector<double> parse_values(std::string_view function, std::string_view argument, std::string_view text,
                                 Spacing spacing = Spacing::kEven);

/// The exact formulas hold for any real length, while prompts have a whole one.
enum class LengthKind { kWhole, kReal };

/// Prompt lengths: a list such as "10,100,1e6,inf", or "1e1:1e6:13" for 13 lengths spaced evenly in log
/// (rounded to whole tokens below 2^53, if both ends are whole). Each is at least 1; inf is the infinite
/// prompt.
std::vector<double> parse_lengths(std::string_view argument, std::string_view text,
                                  LengthKind kind = LengthKind::kWhole);

}  // namespace largo::io
