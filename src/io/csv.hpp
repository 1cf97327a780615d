// Tables of numbers as text: one row per line, fields separated by commas, semicolons or tabs.
//
// The separator is found on the first line that is not a comment: a semicolon if there is one, else a comma,
// else a tab. That line is a header, and skipped, when some of its fields are names and none looks like a
// number, in quotes or not; names may be empty, but not all. Lines that begin with # are comments. Blank
// lines may stand before the first and after the last row. A UTF-8 byte-order mark and CRLF line ends are
// accepted. Numbers are decimal with a point, whatever the locale, and may stand in double quotes; what
// rounds to no finite double (nan, inf, 1e999, 1e-999) is refused with its line and column.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "largo/runtime/matrix.hpp"

namespace largo::io {

/// `name` is the file's name in messages. Every number is the double nearest to its text. Linear in the text.
Matrix parse_csv(std::string_view text, std::string_view name);

Matrix read_csv(const std::filesystem::path& path);

/// Comma-separated, complete or not at all; each number with the fewest digits that read back to the
/// same double. The header is either empty or one name per column. Numbers must be finite, or +∞, written as
/// inf: the length of an infinite prompt (as matrices such files are not read back).
void write_csv(const std::filesystem::path& path, const std::vector<std::string>& header,
               const ConstRowsRef& values);

}  // namespace largo::io
