#include "largo/io/safetensors.hpp"

#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "io/bytes.hpp"
#include "io/files.hpp"
#include "io/text.hpp"
#include "largo/runtime/check.hpp"

namespace largo {
namespace {

struct Extent {
  std::int64_t rows = 1;
  std::int64_t columns = 1;
};

Extent extent_of(const std::vector<std::int64_t>& shape) {
  switch (shape.size()) {
    case 0: return {1, 1};
    case 1: return {1, shape[0]};
    default: return {shape[0], shape[1]};
  }
}

template <class Element, class ToDouble>
Matrix convert(const std::byte* data, Extent extent, ToDouble to_double) {
  Matrix result(extent.rows, extent.columns);
  if (result.size() == 0) return result;  // a shape such as (10^15, 0) must not be looped over
  for (std::int64_t i = 0; i < extent.rows; ++i) {
    for (std::int64_t j = 0; j < extent.columns; ++j) {
      result(i, j) = to_double(io::load<Element>(data));
      data += sizeof(Element);
    }
  }
  return result;
}

std::string header_json(const std::vector<NamedMatrix>& tensors, Scalar scalar,
                        const std::map<std::string, std::string>& metadata) {
  nlohmann::ordered_json header = nlohmann::ordered_json::object();
  if (!metadata.empty()) header["__metadata__"] = metadata;
  std::set<std::string_view> names;
  std::int64_t begin = 0;
  for (const auto& [name, values] : tensors) {
    if (name == "__metadata__") fail("write_safetensors", "tensor name __metadata__ is reserved");
    if (!names.insert(name).second) {
      fail("write_safetensors", fmt::format("duplicate tensor name {}", io::in_quotes(name)));
    }
    const std::int64_t end = begin + values.size() * size_of(scalar);
    header[name] = {{"dtype", scalar == Scalar::float32 ? "F32" : "F64"},
                    {"shape", {values.rows(), values.cols()}},
                    {"data_offsets", {begin, end}}};
    begin = end;
  }
  std::string text;
  try {
    text = header.dump();
  } catch (const nlohmann::json::type_error&) {
    fail("write_safetensors", "a tensor name or the metadata are not valid UTF-8");
  }
  constexpr std::size_t kAlignment = 8;  // of the data, so that a reader can map them
  text.append((kAlignment - text.size() % kAlignment) % kAlignment, ' ');
  return text;
}

}  // namespace

SafetensorsFile::SafetensorsFile(std::shared_ptr<const void> owner, std::span<const std::byte> bytes,
                                 std::string_view name)
    : name_(name), owner_(std::move(owner)), bytes_(bytes), header_(parse_safetensors_header(bytes, name)) {}

SafetensorsFile SafetensorsFile::open(const std::filesystem::path& path) {
  auto file = std::make_shared<const io::MappedFile>(io::MappedFile::open(path));
  const std::span<const std::byte> bytes = file->bytes();
  return SafetensorsFile(std::move(file), bytes, path.native());
}

SafetensorsFile SafetensorsFile::from_bytes(std::span<const std::byte> bytes, std::string_view name) {
  auto copy = std::make_shared<const std::vector<std::byte>>(bytes.begin(), bytes.end());
  const std::span<const std::byte> view = *copy;
  return SafetensorsFile(std::move(copy), view, name);
}

std::vector<std::string> SafetensorsFile::names() const {
  std::vector<std::string> result;
  for (const TensorInfo& tensor : header_.tensors) result.push_back(tensor.name);
  return result;
}

bool SafetensorsFile::contains(std::string_view tensor) const {
  for (const TensorInfo& known : header_.tensors) {
    if (known.name == tensor) return true;
  }
  return false;
}

const TensorInfo& SafetensorsFile::find(std::string_view tensor) const {
  for (const TensorInfo& known : header_.tensors) {
    if (known.name != tensor) continue;
    if (known.shape.size() > 2) {
      refuse(tensor, fmt::format("has {} dimensions, must have at most 2", known.shape.size()));
    }
    return known;
  }
  refuse(tensor, "is not in the file");
}

Matrix SafetensorsFile::matrix(std::string_view tensor) const {
  const TensorInfo& info = find(tensor);
  const Extent extent = extent_of(info.shape);
  const std::byte* const data = bytes_.data() + header_.data_offset + info.begin;
  const auto widen = [](auto value) { return static_cast<double>(value); };
  if (info.dtype == "F64") return convert<double>(data, extent, widen);
  if (info.dtype == "F32") return convert<float>(data, extent, widen);
  if (info.dtype == "F16") return convert<std::uint16_t>(data, extent, io::from_float16);
  if (info.dtype == "BF16") return convert<std::uint16_t>(data, extent, io::from_bfloat16);
  refuse(tensor, fmt::format("dtype is {}, must be F64, F32, F16 or BF16", info.dtype));
}

ArrayView SafetensorsFile::view(std::string_view tensor) const {
  const TensorInfo& info = find(tensor);
  if (info.dtype != "F64" && info.dtype != "F32") {
    refuse(tensor, fmt::format("dtype is {}, must be F64 or F32 to be viewed in place", info.dtype));
  }
  const Scalar scalar = info.dtype == "F64" ? Scalar::float64 : Scalar::float32;
  const std::byte* const data = bytes_.data() + header_.data_offset + info.begin;
  if (!io::is_aligned(data, size_of(scalar))) {
    refuse(tensor, "is not aligned in the file and cannot be viewed in place (read it as a matrix)");
  }
  const Extent extent = extent_of(info.shape);
  return {data, scalar, extent.rows, extent.columns, extent.columns, 1};
}

void SafetensorsFile::refuse(std::string_view tensor, std::string_view reason) const {
  fail("read_safetensors",
       fmt::format("{}: tensor {}: {}", io::one_line(name_), io::in_quotes(tensor), reason));
}

namespace {

struct BytesInMemory {
  std::string& bytes;
  void write(std::span<const std::byte> more) {
    bytes.append(reinterpret_cast<const char*>(more.data()), more.size());
  }
};

template <typename File>
void write_to(File& file, const std::vector<NamedMatrix>& tensors, Scalar scalar,
              const std::map<std::string, std::string>& metadata) {
  const std::string header = header_json(tensors, scalar, metadata);
  const auto length = static_cast<std::uint64_t>(header.size());
  file.write(std::as_bytes(std::span(&length, 1)));
  file.write(std::as_bytes(std::span(header)));
  for (const NamedMatrix& tensor : tensors) {
    io::write_rows("write_safetensors", file, tensor.values, scalar);
  }
}

}  // namespace

void write_safetensors(const std::filesystem::path& path, const std::vector<NamedMatrix>& tensors,
                       Scalar scalar) {
  header_json(tensors, scalar, {});  // throws before a file is begun
  io::AtomicFile file("write_safetensors", path);
  write_to(file, tensors, scalar, {});
  file.commit();
}

std::string safetensors_bytes(const std::vector<NamedMatrix>& tensors,
                              const std::map<std::string, std::string>& metadata) {
  std::string bytes;
  BytesInMemory file{bytes};
  write_to(file, tensors, Scalar::float64, metadata);
  return bytes;
}

}  // namespace largo
