// Tables of numbers as text: one row per line, fields separated by commas, semicolons or tabs.
//
// The separator is found on the first line that is not a comment: a semicolon if there is one, else a comma,
// else a tab. That line is a header, and skipped, when some of its fields are names and none looks like a
// number, in quotes or not; names may be empty, but not all. Lines that begin with # are comments. Blank
// lines may stand before the first and after the last row. A UTF-8 byte-order mark and CRLF line ends are
// accepted. Numbers are decimal with a point, whatever the locale, and may stand in double quotes; what
// rounds to no finite double (nan, inf, 1e999, 1e-999) is refused with its line and column.
#pragma once

#include <cmath>
#include <filesystem>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "io/bytes.hpp"
#include "largo/runtime/check.hpp"
#include "largo/runtime/matrix.hpp"

namespace largo {

/// `name` is the file's name in messages. Every number is the double nearest to its text. Linear in the text.
Matrix parse_csv(std::string_view text, std::string_view name);

Matrix read_csv(const std::filesystem::path& path);

/// Comma-separated, complete or not at all; each number with the fewest digits that read back to the
/// same double. The header is either empty or one name per column. Numbers must be finite, or +∞, written as
/// inf: the length of an infinite prompt (as matrices such files are not read back).
void write_csv(const std::filesystem::path& path, const std::vector<std::string>& header,
               const ConstRowsRef& values);

// The numbers of a matrix, row by row, as little-endian float32 or float64: the data part of .npy and
// .safetensors files.

/// Rounds to nearest; a finite number that would round to infinity is refused.
inline float to_float(std::string_view function, double value, std::ptrdiff_t i, std::ptrdiff_t j) {
  const auto narrow = static_cast<float>(value);
  if (std::isinf(narrow) && !std::isinf(value)) {
    fail(function, fmt::format("entry ({},{})", i, j), value, "within the range of float32");
  }
  return narrow;
}

/// `File` has write(std::span<const std::byte>).
template <typename File>
void write_rows(std::string_view function, File& file, const ConstRowsRef& values, Scalar scalar) {
  std::vector<float> narrow(scalar == Scalar::float32 ? static_cast<std::size_t>(values.cols()) : 0);
  for (std::ptrdiff_t i = 0; i < values.rows(); ++i) {
    const std::span<const double> row(values.data() + i * values.outerStride(),
                                      static_cast<std::size_t>(values.cols()));
    if (scalar == Scalar::float64) {
      file.write(std::as_bytes(row));
      continue;
    }
    for (std::size_t j = 0; j < row.size(); ++j) {
      narrow[j] = to_float(function, row[j], i, static_cast<std::ptrdiff_t>(j));
    }
    file.write(std::as_bytes(std::span<const float>(narrow)));
  }
}

}  // namespace largo
