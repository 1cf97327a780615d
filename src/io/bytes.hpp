// Little-endian loads from bytes of any alignment, and products of sizes that cannot wrap. The file formats
// are little-endian and are mapped in place, so the machine has to be little-endian too.
#pragma once

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "largo/runtime/array_view.hpp"
#include "largo/runtime/check.hpp"
#include "largo/runtime/matrix.hpp"

namespace largo::io {

static_assert(std::endian::native == std::endian::little, "largo maps little-endian files in place");

template <class T>
T load(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

/// The product of non-negative factors; empty when it does not fit in an int64.
inline std::optional<std::int64_t> product(std::span<const std::int64_t> factors) {
  std::int64_t result = 1;
  bool zero = false;
  for (const std::int64_t factor : factors) {
    // A zero must not hide an overflow: (2^62, 4, 0) is refused, as NumPy does.
    if (factor == 0) {
      zero = true;
    } else if (__builtin_mul_overflow(result, factor, &result)) {
      return std::nullopt;
    }
  }
  return zero ? 0 : result;
}

inline bool is_aligned(const void* address, std::int64_t alignment) {
  return std::bit_cast<std::uintptr_t>(address) % static_cast<std::uintptr_t>(alignment) == 0;
}

/// A dense double copy of what the view shows.
inline Matrix copy_of(const ArrayView& view) {
  Matrix result(view.rows, view.columns);
  if (result.size() == 0) return result;  // a shape such as (0, 10^15) must not be looped over
  for (std::int64_t j = 0; j < view.columns; ++j) {
    for (std::int64_t i = 0; i < view.rows; ++i) result(i, j) = view(i, j);
  }
  return result;
}

// The two 16-bit floating-point formats of model files, widened exactly to double.

/// IEEE binary16 (1 sign, 5 exponent, 10 fraction bits), exact for every pattern: subnormals, signed zeros
/// and infinities are kept, and every NaN becomes a quiet NaN.
inline double from_float16(std::uint16_t bits) {
  const int exponent = (bits >> 10) & 0x1f;
  const int fraction = bits & 0x3ff;
  double magnitude = 0;
  if (exponent == 0x1f) {
    magnitude =
        fraction == 0 ? std::numeric_limits<double>::infinity() : std::numeric_limits<double>::quiet_NaN();
  } else if (exponent == 0) {
    magnitude = fraction * 0x1p-24;
  } else {
    // Re-bias 15 -> 1023 and widen the fraction 10 -> 52 bits: a normal half is a normal double.
    magnitude = std::bit_cast<double>((static_cast<std::uint64_t>(exponent) + (1023 - 15)) << 52 |
                                      static_cast<std::uint64_t>(fraction) << 42);
  }
  return (bits & 0x8000) != 0 ? -magnitude : magnitude;
}

/// bfloat16 is the upper half of a binary32; exact for every pattern.
inline double from_bfloat16(std::uint16_t bits) {
  return static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16));
}

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

}  // namespace largo::io
