// Tables of numbers as text: one row per line, fields separated by commas, semicolons or tabs.
//
// The separator is found on the first line that is not a comment: a semicolon if there is one, else a comma,
// else a tab. That line is a header, and is skipped, if some of its fields are names and none looks like a
// number, quoted or not; some names may be empty, but not all. Lines that begin with # are comments. There
// may be blank lines before the first row and after the last. A UTF-8 byte-order mark and CRLF line ends are
// accepted. Numbers are decimal with a point, whatever the locale, and may be in double quotes. A field that
// is not finite or is out of the range of a double (nan, inf, 1e999, 1e-999) is refused with its line and
// column.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "largo/runtime/matrix.hpp"

namespace largo::io {

/// `name` is the file's name in messages. Every number is the double nearest to its text. Takes linear time.
Matrix parse_csv(std::string_view text, std::string_view name);

Matrix read_csv(const std::filesystem::path& path);

/// Writes comma-separated values, completely or not at all, each with the fewest digits that read back as the
/// same double. The header is either empty or has one name per column. Numbers must be finite, or +∞, the
/// length of an infinite prompt, which is written as inf (such files cannot be read back as matrices).
void write_csv(const std::filesystem::path& path, const std::vector<std::string>& header,
               const ConstRowsRef& values);

}  // namespace largo::io
