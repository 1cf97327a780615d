// The numbers of a matrix, row by row, as little-endian float32 or float64: the data part of .npy and
// .safetensors files.
#pragma once

#include <cmath>
#include <limits>
#include <span>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "io/bytes.hpp"
#include "largo/runtime/check.hpp"

namespace largo {

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
