// The queries, keys and values of one head, where they are stored.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace largo {

enum class Storage : std::uint8_t { float16, bfloat16, float32, float64 };

constexpr std::int64_t size_of(Storage storage) {
  return storage == Storage::float64 ? 8 : storage == Storage::float32 ? 4 : 2;
}

/// A tensor in memory that someone else keeps: contiguous, the last index fastest, of any alignment.
struct StoredTensor {
  const std::byte* data = nullptr;
  Storage storage = Storage::float32;
  std::vector<std::int64_t> shape;
};

/// The tensors of one layer.
struct StoredLayer {
  std::int64_t layer = 0;
  StoredTensor q, k, v;
};

/// Vectors of one head, one in each row.
struct StoredRows {
  const std::byte* data = nullptr;
  Storage storage = Storage::float32;
  std::int64_t rows = 0;
  std::int64_t columns = 0;
};

struct CapturedHead {
  std::int64_t layer = 0;
  std::int64_t sequence = 0;  ///< number in the batch
  std::int64_t head = 0;
  StoredRows queries, keys, values;  ///< as many keys as values, and at most as many queries
};

}  // namespace largo
