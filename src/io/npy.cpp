#include "largo/io/npy.hpp"

#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "io/atomic_file.hpp"
#include "io/bytes.hpp"
#include "io/mapped_file.hpp"
#include "io/write_rows.hpp"

namespace largo {
namespace {

std::shared_ptr<const void> copy_of_data(std::span<const std::byte> data) {
  std::shared_ptr<std::byte[]> copy(new std::byte[data.size()]);  // operator new aligns for any scalar
  if (!data.empty()) std::memcpy(copy.get(), data.data(), data.size());
  return {copy, copy.get()};
}

}  // namespace

NpyArray NpyArray::open(const std::filesystem::path& path) {
  auto file = std::make_shared<const MappedFile>(MappedFile::open(path));
  const NpyHeader header = parse_npy_header(file->bytes(), path.native());
  const std::span<const std::byte> data = file->bytes().subspan(header.data_offset);
  if (!is_aligned(data.data(), size_of(header.scalar))) return NpyArray(header, copy_of_data(data));
  return NpyArray(header, std::shared_ptr<const void>(std::move(file), data.data()));
}

NpyArray NpyArray::from_bytes(std::span<const std::byte> bytes, std::string_view name) {
  const NpyHeader header = parse_npy_header(bytes, name);
  return NpyArray(header, copy_of_data(bytes.subspan(header.data_offset)));
}

ArrayView NpyArray::view() const {
  const bool by_rows = header_.order == StorageOrder::row_major;
  return {data_.get(),
          header_.scalar,
          header_.rows,
          header_.columns,
          by_rows ? header_.columns : 1,
          by_rows ? 1 : header_.rows};
}

Matrix NpyArray::matrix() const { return copy_of(view()); }

void write_npy(const std::filesystem::path& path, const ConstRowsRef& values, Scalar scalar) {
  std::string dictionary =
      fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}, {}), }}",
                  scalar == Scalar::float32 ? "<f4" : "<f8", values.rows(), values.cols());
  constexpr std::size_t kAlignment = 64;  // of the data, as NumPy does
  constexpr std::size_t kPreamble = 10;   // magic, version, length
  const std::size_t unpadded = kPreamble + dictionary.size() + 1;
  dictionary.append((kAlignment - unpadded % kAlignment) % kAlignment, ' ');
  dictionary += '\n';

  AtomicFile file("write_npy", path);
  file.write(std::string_view("\x93NUMPY\x01\x00", 8));
  const auto length = static_cast<std::uint16_t>(dictionary.size());
  file.write(std::as_bytes(std::span(&length, 1)));
  file.write(dictionary);
  write_rows("write_npy", file, values, scalar);
  file.commit();
}

}  // namespace largo
