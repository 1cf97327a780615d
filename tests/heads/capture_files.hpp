// Captures made byte by byte.
#pragma once

#include <cmath>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "largo/heads/capture.hpp"
#include "largo/random/streams.hpp"
#include "support/fixtures.hpp"

namespace largo::test {

struct FileTensor {
  std::string name, dtype;
  std::vector<std::int64_t> shape;
  std::string data;
};

inline std::string safetensors_file(const std::vector<FileTensor>& tensors) {
  std::string header = "{", data;
  for (const FileTensor& tensor : tensors) {
    header += fmt::format("{}\"{}\":{{\"dtype\":\"{}\",\"shape\":[{}],\"data_offsets\":[{},{}]}}",
                          header.size() > 1 ? "," : "", tensor.name, tensor.dtype,
                          fmt::join(tensor.shape, ","), data.size(), data.size() + tensor.data.size());
    data += tensor.data;
  }
  header += "}";
  return raw(static_cast<std::uint64_t>(header.size())) + header + data;
}

inline std::int64_t numbers_in(const std::vector<std::int64_t>& shape) {
  std::int64_t count = 1;
  for (const std::int64_t extent : shape) count *= extent;
  return count;
}

/// Normal numbers, rounded to 1/8: exact in every format as long as they are small.
inline std::vector<double> eighths(std::int64_t count, std::uint64_t stream) {
  std::vector<double> values(static_cast<std::size_t>(count));
  Stream(1, stream).normals(0, values);
  for (double& value : values) value = std::round(8 * value) / 8;
  return values;
}

template <typename Element>
std::string bytes_as(const std::vector<double>& values, const std::function<Element(double)>& narrow) {
  std::string bytes;
  for (const double value : values) bytes += raw(narrow(value));
  return bytes;
}

/// Multiples of 1/8 below 16, of which each format has all.
inline std::uint16_t to_float16(double value) {
  if (value == 0) return 0;
  int exponent = 0;
  const double fraction = std::frexp(std::abs(value), &exponent);  // in [0.5, 1)
  const auto bits =
      static_cast<std::uint16_t>(((exponent + 14) << 10) | static_cast<int>((2 * fraction - 1) * 1024));
  return static_cast<std::uint16_t>(bits | (value < 0 ? 0x8000 : 0));
}

inline std::string tensor_data(const std::string& dtype, const std::vector<double>& values) {
  if (dtype == "F64") return bytes_as<double>(values, [](double x) { return x; });
  if (dtype == "F32") return bytes_as<float>(values, [](double x) { return static_cast<float>(x); });
  if (dtype == "F16") return bytes_as<std::uint16_t>(values, to_float16);
  return bytes_as<std::uint16_t>(values, [](double x) {
    return static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(static_cast<float>(x)) >> 16);
  });
}

inline FileTensor tensor_of(const std::string& name, const std::vector<std::int64_t>& shape,
                            std::uint64_t stream, const std::string& dtype = "F32") {
  return {name, dtype, shape, tensor_data(dtype, eighths(numbers_in(shape), stream))};
}

/// One layer of these shapes, with the same numbers in every dtype.
inline Capture capture_of(const std::vector<std::int64_t>& queries, const std::vector<std::int64_t>& keys,
                          const std::vector<std::int64_t>& values, const std::string& dtype = "F32") {
  return Capture::from_bytes(bytes_of(safetensors_file({tensor_of("layers.0.q", queries, 1, dtype),
                                                        tensor_of("layers.0.k", keys, 2, dtype),
                                                        tensor_of("layers.0.v", values, 3, dtype)})),
                             "m.safetensors");
}

}  // namespace largo::test
