// Little-endian loads from bytes of any alignment, and products of sizes that cannot wrap. The file formats
// are little-endian and are mapped in place, so the machine has to be little-endian too.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>

#include "largo/runtime/array_view.hpp"

namespace largo {

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
  if (result.size() == 0) return result;  // a shape such as (0, 10^15) must not be walked through
  for (std::int64_t j = 0; j < view.columns; ++j) {
    for (std::int64_t i = 0; i < view.rows; ++i) result(i, j) = view(i, j);
  }
  return result;
}

}  // namespace largo
