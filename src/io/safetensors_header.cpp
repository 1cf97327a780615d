// The header of a .safetensors file:
//   {"__metadata__": {"key": "text"}, "name": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}}
// It is read in a SAX pass, because a JSON tree silently keeps one of two equal keys. The states allow only
// this shape, so deeper nesting is never followed.
#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "io/bytes.hpp"
#include "io/text.hpp"
#include "largo/io/safetensors.hpp"
#include "largo/runtime/check.hpp"

namespace largo {
namespace {

constexpr std::size_t kLengthBytes = 8;
constexpr std::uint64_t kLongestHeader = 100'000'000;  // the format's own limit

struct Dtype {
  std::string_view name;
  std::int64_t bytes;
};
constexpr std::array<Dtype, 16> kDtypes = {{{"F64", 8},
                                            {"F32", 4},
                                            {"F16", 2},
                                            {"BF16", 2},
                                            {"I64", 8},
                                            {"U64", 8},
                                            {"I32", 4},
                                            {"U32", 4},
                                            {"I16", 2},
                                            {"U16", 2},
                                            {"I8", 1},
                                            {"U8", 1},
                                            {"BOOL", 1},
                                            {"F8_E4M3", 1},
                                            {"F8_E5M2", 1},
                                            {"C64", 8}}};

[[noreturn]] void refuse(std::string_view name, std::string_view reason) {
  fail("read_safetensors", fmt::format("{}: {}", io::one_line(name), reason));
}

// Callbacks return false to stop; `problem` then says why.
class HeaderHandler : public nlohmann::json_sax<nlohmann::json> {
 public:
  std::vector<TensorInfo> tensors;
  std::map<std::string, std::string> metadata;
  std::string problem;

  bool null() override { return unexpected("null"); }
  bool boolean(bool) override { return unexpected("a boolean"); }
  bool number_integer(number_integer_t value) override {
    if (!in_array()) return unexpected("a number");
    return stop(fmt::format("tensor {}: {} contains {}, must be a non-negative integer",
                            io::in_quotes(tensor_name()), field_, value));
  }
  bool number_float(number_float_t, const string_t& text) override {
    if (!in_array()) return unexpected("a number");
    return stop(fmt::format("tensor {}: {} contains {}, must be an integer below 2^63",
                            io::in_quotes(tensor_name()), field_, io::in_quotes(text)));
  }
  bool binary(binary_t&) override { return unexpected("binary data"); }

  bool number_unsigned(number_unsigned_t value) override {
    if (!in_array()) return unexpected("a number");
    if (value > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
      return stop(fmt::format("tensor {}: {} contains {}, must be an integer below 2^63",
                              io::in_quotes(tensor_name()), field_, value));
    }
    (state_ == State::shape ? shape_ : offsets_)->push_back(static_cast<std::int64_t>(value));
    return true;
  }

  bool string(string_t& value) override {
    if (state_ == State::metadata) {
      metadata[field_] = value;
    } else if (state_ == State::tensor && field_ == "dtype") {
      dtype_ = value;
    } else {
      return unexpected("a string");
    }
    return true;
  }

  bool start_object(std::size_t) override {
    if (state_ == State::start) {
      state_ = State::file;
    } else if (state_ == State::file) {
      state_ = field_ == "__metadata__" ? State::metadata : State::tensor;
      tensor_name_ = field_;
      dtype_.reset();
      shape_.reset();
      offsets_.reset();
      tensor_fields_.clear();
    } else {
      return unexpected("an object");
    }
    return true;
  }

  bool key(string_t& value) override {
    field_ = value;
    switch (state_) {
      case State::file:
        if (!names_.insert(value).second)
          return stop(fmt::format("duplicate tensor name {}", io::in_quotes(value)));
        return true;
      case State::metadata:
        if (metadata.contains(value))
          return stop(fmt::format("duplicate metadata key {}", io::in_quotes(value)));
        return true;
      default:
        if (value != "dtype" && value != "shape" && value != "data_offsets") {
          return stop(
              fmt::format("tensor {}: unknown key {}", io::in_quotes(tensor_name()), io::in_quotes(value)));
        }
        if (!tensor_fields_.insert(value).second) {
          return stop(
              fmt::format("tensor {}: duplicate key {}", io::in_quotes(tensor_name()), io::in_quotes(value)));
        }
        return true;
    }
  }

  bool end_object() override {
    if (state_ == State::tensor && !finish_tensor()) return false;
    state_ = state_ == State::file ? State::end : State::file;
    return true;
  }

  bool start_array(std::size_t) override {
    if (state_ == State::tensor && field_ == "shape") {
      state_ = State::shape;
      shape_.emplace();
    } else if (state_ == State::tensor && field_ == "data_offsets") {
      state_ = State::offsets;
      offsets_.emplace();
    } else {
      return unexpected("an array");
    }
    return true;
  }

  bool end_array() override {
    state_ = State::tensor;
    return true;
  }

  bool parse_error(std::size_t position, const std::string&, const nlohmann::detail::exception&) override {
    return stop(fmt::format("header is not valid JSON at byte {}", position));
  }

 private:
  enum class State { start, file, metadata, tensor, shape, offsets, end };

  bool in_array() const { return state_ == State::shape || state_ == State::offsets; }
  std::string_view tensor_name() const { return tensor_name_; }

  bool stop(std::string reason) {
    problem = std::move(reason);
    return false;
  }

  bool unexpected(std::string_view what) {
    return stop(fmt::format("malformed header: unexpected {}{}", what,
                            state_ == State::start ? "" : fmt::format(" under {}", io::in_quotes(field_))));
  }

  bool finish_tensor() {
    if (!dtype_ || !shape_ || !offsets_) {
      return stop(fmt::format("tensor {}: {} is missing", io::in_quotes(tensor_name()),
                              !dtype_   ? "dtype"
                              : !shape_ ? "shape"
                                        : "data_offsets"));
    }
    if (offsets_->size() != 2) {
      return stop(fmt::format("tensor {}: data_offsets has {} numbers, must have 2",
                              io::in_quotes(tensor_name()), offsets_->size()));
    }
    tensors.push_back({tensor_name_, *std::move(dtype_), *std::move(shape_),
                       static_cast<std::size_t>((*offsets_)[0]), static_cast<std::size_t>((*offsets_)[1])});
    return true;
  }

  State state_ = State::start;
  std::string field_;  ///< the latest key
  std::set<std::string> names_;
  std::string tensor_name_;
  std::set<std::string> tensor_fields_;
  std::optional<std::string> dtype_;
  std::optional<std::vector<std::int64_t>> shape_;
  std::optional<std::vector<std::int64_t>> offsets_;
};

std::string_view header_json(std::span<const std::byte> bytes, std::string_view name) {
  if (bytes.size() < kLengthBytes) {
    refuse(name, fmt::format("truncated header: {} bytes in all, must be at least 8", bytes.size()));
  }
  const auto length = io::load<std::uint64_t>(bytes.data());
  if (length > kLongestHeader) {
    refuse(name, fmt::format("header is {} bytes long, must be at most {}", length, kLongestHeader));
  }
  if (length > bytes.size() - kLengthBytes) {
    refuse(name, fmt::format("header is {} bytes long, longer than the {} bytes left in the file", length,
                             bytes.size() - kLengthBytes));
  }
  const std::string_view json(reinterpret_cast<const char*>(bytes.data()) + kLengthBytes, length);
  if (!json.starts_with('{')) refuse(name, "malformed header: must begin with '{'");
  // The JSON parser takes a NUL for the end of its input and would ignore what follows.
  if (json.find('\0') != std::string_view::npos) refuse(name, "malformed header: contains a NUL byte");
  return json;
}

void check_tensor(const TensorInfo& tensor, std::size_t data_bytes, std::string_view name) {
  const auto where = [&] { return fmt::format("tensor {}", io::in_quotes(tensor.name)); };
  if (tensor.begin > tensor.end || tensor.end > data_bytes) {
    refuse(name, fmt::format("{}: data_offsets [{}, {}] are out of range, the file has {} bytes of data",
                             where(), tensor.begin, tensor.end, data_bytes));
  }
  const auto dtype = std::find_if(kDtypes.begin(), kDtypes.end(),
                                  [&](const Dtype& known) { return known.name == tensor.dtype; });
  if (dtype == kDtypes.end()) {
    refuse(name, fmt::format("{}: unknown dtype {}", where(), io::in_quotes(tensor.dtype)));
  }
  std::vector<std::int64_t> factors = tensor.shape;
  factors.push_back(dtype->bytes);
  const std::optional<std::int64_t> expected = io::product(factors);
  if (!expected) refuse(name, fmt::format("{}: shape is too large: its size in bytes overflows", where()));
  if (static_cast<std::size_t>(*expected) != tensor.end - tensor.begin) {
    refuse(name, fmt::format("{}: shape and dtype need {} bytes, data_offsets [{}, {}] give {}", where(),
                             *expected, tensor.begin, tensor.end, tensor.end - tensor.begin));
  }
}

// The tensors are sorted by offset, and each must begin where the one before it ended.
void check_layout(const std::vector<TensorInfo>& tensors, std::size_t data_bytes, std::string_view name) {
  std::size_t end = 0;
  const TensorInfo* before = nullptr;
  for (const TensorInfo& tensor : tensors) {
    if (tensor.begin < end) {
      refuse(name, fmt::format("tensors {} and {} overlap", io::in_quotes(before->name),
                               io::in_quotes(tensor.name)));
    }
    if (tensor.begin > end) {
      refuse(name, fmt::format("bytes {} to {} of the data belong to no tensor", end, tensor.begin));
    }
    end = tensor.end;
    before = &tensor;
  }
  if (end != data_bytes) {
    refuse(name, fmt::format("bytes {} to {} of the data belong to no tensor", end, data_bytes));
  }
}

}  // namespace

SafetensorsHeader parse_safetensors_header(std::span<const std::byte> bytes, std::string_view name) {
  const std::string_view json = header_json(bytes, name);
  HeaderHandler handler;
  if (!nlohmann::json::sax_parse(json.begin(), json.end(), &handler)) refuse(name, handler.problem);

  SafetensorsHeader result;
  result.tensors = std::move(handler.tensors);
  result.metadata = std::move(handler.metadata);
  result.data_offset = kLengthBytes + json.size();
  const std::size_t data_bytes = bytes.size() - result.data_offset;
  for (const TensorInfo& tensor : result.tensors) check_tensor(tensor, data_bytes, name);
  std::sort(result.tensors.begin(), result.tensors.end(), [](const TensorInfo& a, const TensorInfo& b) {
    return std::tie(a.begin, a.end, a.name) < std::tie(b.begin, b.end, b.name);
  });
  check_layout(result.tensors, data_bytes, name);
  return result;
}

}  // namespace largo
