// .safetensors files: named tensors in one file, as an 8-byte length, a JSON header, then the data. F64, F32,
// F16 and BF16 tensors of at most two dimensions are read as matrices; a file may contain other tensors, but
// these are refused when asked for, except as bytes. The header is checked against the rules of the format
// when the file is opened: unique names, offsets in range, sizes that match the shapes, no overlap, no hole.
// NaN and infinity are read like any number; code that uses them must refuse them (read_matrix does).
//
// Reference: https://github.com/huggingface/safetensors, README "Format".
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "largo/runtime/array_view.hpp"

namespace largo {

struct TensorInfo {
  std::string name;
  std::string dtype;  ///< as in the file, for example "F32"
  std::vector<std::int64_t> shape;
  std::size_t begin = 0;  ///< offset from the start of the data
  std::size_t end = 0;
};

struct SafetensorsHeader {
  std::vector<TensorInfo> tensors;  ///< in the order of their data
  std::map<std::string, std::string> metadata;
  std::size_t data_offset = 0;  ///< offset from the start of the file
};

/// Reads the header of a whole file and checks it against the file, so that every tensor in the result can be
/// read without further checks of offsets. `name` is the file's name in messages. O(n log n) in the header.
SafetensorsHeader parse_safetensors_header(std::span<const std::byte> bytes, std::string_view name);

/// An opened file. Copies share the mapping.
class SafetensorsFile {
 public:
  static SafetensorsFile open(const std::filesystem::path& path);
  /// The same from a copy of the bytes of a file.
  static SafetensorsFile from_bytes(std::span<const std::byte> bytes, std::string_view name);

  /// The names of the tensors, in the order of their data.
  std::vector<std::string> names() const;
  bool contains(std::string_view tensor) const;
  const std::map<std::string, std::string>& metadata() const { return header_.metadata; }

  /// All tensors, in the order of their data, and the bytes of one of them. Valid while any copy of this
  /// lives.
  const std::vector<TensorInfo>& tensors() const { return header_.tensors; }
  std::span<const std::byte> bytes(const TensorInfo& tensor) const {
    return bytes_.subspan(header_.data_offset + tensor.begin, tensor.end - tensor.begin);
  }

  /// The tensor in double precision. A 1-d tensor is one row, a 0-d tensor is 1 x 1.
  Matrix matrix(std::string_view tensor) const;
  /// A view without a copy, for aligned F32 and F64 data; refused otherwise. Valid while any copy of this
  /// lives.
  ArrayView view(std::string_view tensor) const;

 private:
  SafetensorsFile(std::shared_ptr<const void> owner, std::span<const std::byte> bytes, std::string_view name);
  const TensorInfo& find(std::string_view tensor) const;
  [[noreturn]] void refuse(std::string_view tensor, std::string_view reason) const;

  std::string name_;
  std::shared_ptr<const void> owner_;
  std::span<const std::byte> bytes_;
  SafetensorsHeader header_;
};

struct NamedMatrix {
  std::string name;
  Matrix values;
};

/// Writes the tensors in the order given, completely or not at all. Refuses duplicate names, the reserved
/// name __metadata__, names that are not UTF-8 and, with float32, numbers that are too large for it.
void write_safetensors(const std::filesystem::path& path, const std::vector<NamedMatrix>& tensors,
                       Scalar scalar = Scalar::float64);

/// A whole file of float64 tensors in memory, with metadata. Refuses what write_safetensors() refuses.
std::string safetensors_bytes(const std::vector<NamedMatrix>& tensors,
                              const std::map<std::string, std::string>& metadata);

}  // namespace largo
