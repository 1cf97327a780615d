#include "largo/io/npy.hpp"

#include <charconv>
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "io/bytes.hpp"
#include "io/files.hpp"
#include "io/text.hpp"
#include "largo/runtime/check.hpp"

namespace largo {
namespace {

std::shared_ptr<const void> copy_of_data(std::span<const std::byte> data) {
  std::shared_ptr<std::byte[]> copy(new std::byte[data.size()]);  // operator new aligns for any scalar
  if (!data.empty()) std::memcpy(copy.get(), data.data(), data.size());
  return {copy, copy.get()};
}

}  // namespace

NpyArray NpyArray::open(const std::filesystem::path& path) {
  auto file = std::make_shared<const io::MappedFile>(io::MappedFile::open(path));
  const NpyHeader header = parse_npy_header(file->bytes(), path.native());
  const std::span<const std::byte> data = file->bytes().subspan(header.data_offset);
  if (!io::is_aligned(data.data(), size_of(header.scalar))) return NpyArray(header, copy_of_data(data));
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

Matrix NpyArray::matrix() const { return io::copy_of(view()); }

void write_npy(const std::filesystem::path& path, const ConstRowsRef& values, Scalar scalar) {
  std::string dictionary =
      fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}, {}), }}",
                  scalar == Scalar::float32 ? "<f4" : "<f8", values.rows(), values.cols());
  constexpr std::size_t kAlignment = 64;  // of the data, as in NumPy
  constexpr std::size_t kPreamble = 10;   // magic, version, length
  const std::size_t unpadded = kPreamble + dictionary.size() + 1;
  dictionary.append((kAlignment - unpadded % kAlignment) % kAlignment, ' ');
  dictionary += '\n';

  io::AtomicFile file("write_npy", path);
  file.write(std::string_view("\x93NUMPY\x01\x00", 8));
  const auto length = static_cast<std::uint16_t>(dictionary.size());
  file.write(std::as_bytes(std::span(&length, 1)));
  file.write(dictionary);
  io::write_rows("write_npy", file, values, scalar);
  file.commit();
}

// The header of a .npy file: magic, version, length, and a Python dictionary such as
//   {'descr': '<f8', 'fortran_order': False, 'shape': (3, 4), }
// padded with spaces and a newline. The dictionary is read by a small parser for exactly the literals that
// may occur there.

namespace {

constexpr std::string_view kMagic = "\x93NUMPY";

[[noreturn]] void refuse(std::string_view name, std::string_view reason) {
  fail("read_npy", fmt::format("{}: {}", io::one_line(name), reason));
}

struct Dictionary {
  std::optional<std::string_view> descr;
  std::optional<StorageOrder> order;
  std::optional<std::vector<std::int64_t>> shape;
};

class DictionaryParser {
 public:
  DictionaryParser(std::string_view text, std::string_view name) : text_(text), name_(name) {}

  Dictionary parse() {
    Dictionary result;
    expect('{');
    while (!accept('}')) {
      parse_item(result);
      if (accept(',')) continue;
      expect('}');
      break;
    }
    skip_space();
    if (at_ != text_.size()) malformed("only spaces after the dictionary");
    if (!result.descr) missing("descr");
    if (!result.order) missing("fortran_order");
    if (!result.shape) missing("shape");
    return result;
  }

 private:
  [[noreturn]] void malformed(std::string_view expected) const {
    refuse(name_, fmt::format("malformed header: expected {} at {}", expected,
                              at_ < text_.size() ? io::in_quotes(text_.substr(at_)) : "the end"));
  }

  [[noreturn]] void missing(std::string_view key) const {
    refuse(name_, fmt::format("malformed header: key '{}' is missing", key));
  }

  void skip_space() {
    while (at_ < text_.size() && std::string_view(" \t\r\n").find(text_[at_]) != std::string_view::npos)
      ++at_;
  }

  char peek() {
    skip_space();
    return at_ < text_.size() ? text_[at_] : '\0';
  }

  bool accept(char c) {
    skip_space();
    if (at_ == text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }

  void expect(char c) {
    if (!accept(c)) malformed(fmt::format("'{}'", c));
  }

  bool accept_word(std::string_view word) {
    skip_space();
    if (!text_.substr(at_).starts_with(word)) return false;
    at_ += word.size();
    return true;
  }

  std::string_view parse_string() {
    const char quote = peek();
    if (quote != '\'' && quote != '"') malformed("a string");
    const std::size_t end = text_.find(quote, at_ + 1);
    if (end == std::string_view::npos) malformed("a closed string");
    const std::string_view value = text_.substr(at_ + 1, end - at_ - 1);
    if (value.find_first_of("\\\n\r") != std::string_view::npos) malformed("a string without escapes");
    at_ = end + 1;
    return value;
  }

  std::string_view parse_descr() {
    if (peek() == '[') refuse(name_, "structured dtype, must be <f4 or <f8 (save one field of the array)");
    return parse_string();
  }

  StorageOrder parse_order() {
    if (accept_word("True")) return StorageOrder::column_major;
    if (accept_word("False")) return StorageOrder::row_major;
    malformed("True or False");
  }

  std::int64_t parse_extent() {
    skip_space();
    const std::string_view rest = text_.substr(at_);
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), value);
    if (error == std::errc::result_out_of_range)
      refuse(name_, "shape is too large: an extent exceeds 2^63-1");
    if (error != std::errc()) malformed("an integer in the shape");
    if (value < 0 || rest.front() == '-') {
      refuse(name_, fmt::format("shape has the negative extent {}, must be non-negative", value));
    }
    at_ += static_cast<std::size_t>(end - rest.data());
    if (at_ < text_.size() && text_[at_] == 'L') ++at_;  // Python 2 wrote long integers as 3L
    if (at_ < text_.size() && std::string_view(".eEjJ_xX").find(text_[at_]) != std::string_view::npos) {
      refuse(name_, fmt::format("shape has the extent {}, must be an integer",
                                io::in_quotes(rest.substr(0, rest.find_first_of(",) ")))));
    }
    return value;
  }

  std::vector<std::int64_t> parse_shape() {
    std::vector<std::int64_t> shape;
    if (peek() != '(') malformed("a tuple as the shape");
    ++at_;
    while (!accept(')')) {
      shape.push_back(parse_extent());
      if (accept(',')) continue;
      if (shape.size() == 1) malformed("',' (a tuple of one number is written (3,))");
      expect(')');
      break;
    }
    return shape;
  }

  void parse_item(Dictionary& into) {
    const std::string_view key = parse_string();
    expect(':');
    const auto once = [&](auto& slot, auto value) {
      if (slot) refuse(name_, fmt::format("malformed header: key {} occurs twice", io::in_quotes(key)));
      slot = std::move(value);
    };
    if (key == "descr") {
      once(into.descr, parse_descr());
    } else if (key == "fortran_order") {
      once(into.order, parse_order());
    } else if (key == "shape") {
      once(into.shape, parse_shape());
    } else {
      refuse(name_, fmt::format("malformed header: unknown key {}", io::in_quotes(key)));
    }
  }

  std::string_view text_;
  std::string_view name_;
  std::size_t at_ = 0;
};

struct HeaderText {
  std::string_view text;
  std::size_t data_offset = 0;
};

HeaderText header_text(std::span<const std::byte> bytes, std::string_view name) {
  const std::string_view all(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (all.starts_with("PK\x03\x04")) refuse(name, "is a .npz archive, must be a single .npy array");
  if (!all.starts_with(kMagic.substr(0, all.size())))
    refuse(name, "is not a .npy file (no \\x93NUMPY magic)");
  constexpr std::size_t kVersionEnd = 8;  // magic, major, minor
  if (all.size() < kVersionEnd) refuse(name, fmt::format("truncated header: {} bytes in all", all.size()));
  const int major = std::to_integer<int>(bytes[6]);
  const int minor = std::to_integer<int>(bytes[7]);
  if (major < 1 || major > 3 || minor != 0) {
    refuse(name, fmt::format(".npy format version is {}.{}, must be 1.0, 2.0 or 3.0", major, minor));
  }
  const std::size_t start = kVersionEnd + (major == 1 ? 2 : 4);
  if (all.size() < start) refuse(name, fmt::format("truncated header: {} bytes in all", all.size()));
  const std::size_t length = major == 1 ? io::load<std::uint16_t>(bytes.data() + kVersionEnd)
                                        : io::load<std::uint32_t>(bytes.data() + kVersionEnd);
  if (length > all.size() - start) {
    refuse(name, fmt::format("header is {} bytes long, longer than the {} bytes left in the file", length,
                             all.size() - start));
  }
  return {all.substr(start, length), start + length};
}

Scalar scalar_of(std::string_view descr, std::string_view name) {
  if (descr == "<f4") return Scalar::float32;
  if (descr == "<f8") return Scalar::float64;
  if (descr == ">f4" || descr == ">f8") {
    refuse(name, fmt::format("big-endian dtype '{0}', must be little-endian (convert with "
                             "array.astype('<{1}'))",
                             descr, descr.substr(1)));
  }
  if (descr.ends_with('O'))
    refuse(name, fmt::format("object dtype {}, must be <f4 or <f8", io::in_quotes(descr)));
  refuse(name, fmt::format("dtype {}, must be <f4 or <f8 (convert with array.astype('<f8'))",
                           io::in_quotes(descr)));
}

}  // namespace

NpyHeader parse_npy_header(std::span<const std::byte> bytes, std::string_view name) {
  const HeaderText header = header_text(bytes, name);
  const Dictionary dictionary = DictionaryParser(header.text, name).parse();
  const std::vector<std::int64_t>& shape = *dictionary.shape;

  NpyHeader result;
  result.scalar = scalar_of(*dictionary.descr, name);
  result.order = *dictionary.order;
  if (shape.empty() || shape.size() > 2) {
    refuse(name, fmt::format("array has {} dimensions, must have 1 or 2", shape.size()));
  }
  result.dimensions = static_cast<int>(shape.size());
  result.rows = shape.size() == 1 ? 1 : shape[0];
  result.columns = shape.back();
  result.data_offset = header.data_offset;

  const std::int64_t factors[] = {result.rows, result.columns, size_of(result.scalar)};
  const std::optional<std::int64_t> expected = io::product(factors);
  if (!expected) {
    refuse(name, fmt::format("shape {} x {} is too large: its size in bytes overflows", result.rows,
                             result.columns));
  }
  result.data_bytes = static_cast<std::size_t>(*expected);
  const std::size_t present = bytes.size() - header.data_offset;
  if (present != result.data_bytes) {
    refuse(name, fmt::format("{}: shape {} x {} needs {} bytes, the file has {}",
                             present < result.data_bytes ? "truncated data" : "trailing bytes after the data",
                             result.rows, result.columns, result.data_bytes, present));
  }
  return result;
}

}  // namespace largo
