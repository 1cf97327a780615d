// NumPy's .npy files, format versions 1, 2 and 3: little-endian float32 and float64, C or Fortran order, one
// or two dimensions. They are read in place by mapping the file; nothing is converted or copied. Everything
// else (big-endian, integer, complex, object and structured arrays, .npz archives) is refused with
// InputError. NaN and infinity are read like any number; code that uses them must refuse them (read_matrix
// does).
//
// Reference: numpy/doc/neps/nep-0001-npy-format.rst, numpy/lib/format.py.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string_view>

#include "largo/runtime/array_view.hpp"

namespace largo {

enum class StorageOrder : std::uint8_t { row_major, column_major };

struct NpyHeader {
  Scalar scalar = Scalar::float64;
  StorageOrder order = StorageOrder::row_major;
  int dimensions = 2;        ///< 1 or 2
  std::int64_t rows = 0;     ///< 1 for a one-dimensional array
  std::int64_t columns = 0;  ///< the length of a one-dimensional array
  std::size_t data_offset = 0;
  std::size_t data_bytes = 0;
};

/// Reads the header of a whole file and checks it against the file, so that the array can be viewed without
/// further checks. `name` is the file's name in messages. Linear in the header; allocates memory only for
/// error messages.
NpyHeader parse_npy_header(std::span<const std::byte> bytes, std::string_view name);

/// An array and the memory it lives in. Copies share the memory.
class NpyArray {
 public:
  /// Maps the file. The data are copied only if they are not aligned for their scalar (if another program did
  /// not pad the header).
  static NpyArray open(const std::filesystem::path& path);
  /// The same from the bytes of a file. The data are copied.
  static NpyArray from_bytes(std::span<const std::byte> bytes, std::string_view name);

  int dimensions() const { return header_.dimensions; }
  /// A one-dimensional array of n numbers is one row of n columns. Valid while any copy of this object lives.
  ArrayView view() const;
  /// A copy of the numbers.
  Matrix matrix() const;

 private:
  NpyArray(NpyHeader header, std::shared_ptr<const void> data) : header_(header), data_(std::move(data)) {}

  NpyHeader header_;
  std::shared_ptr<const void> data_;  ///< points to the first element; keeps the mapping or the copy alive
};

/// Writes a two-dimensional C-order array (format version 1), completely or not at all. With float32, numbers
/// that are too large for it are refused; NaN and infinity are written as they are.
void write_npy(const std::filesystem::path& path, const ConstRowsRef& values,
               Scalar scalar = Scalar::float64);

}  // namespace largo
