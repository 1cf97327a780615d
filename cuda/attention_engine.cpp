#include "attention_engine.hpp"

#include <algorithm>
#include <bit>
#include <numbers>
#include <vector>

#include <fmt/format.h>

#include "attention_kernel.hpp"
#include "largo/numerics/check.hpp"
#include "numerics/distribute.hpp"
#include "prompt_kernel.hpp"
#include "runtime.hpp"

namespace largo::cuda {
namespace {

constexpr const char* kName = "attention on a GPU";
constexpr std::int64_t kStagedNumbers = std::int64_t{1} << 24;  // copied at a time
constexpr std::int64_t kDirectionsPerPass = 64;
constexpr int kMostWithCovariance = 100;

float number(const ArrayView& tokens, std::int64_t i, std::int64_t j) {
  return static_cast<float>(tokens(i, j));
}

bool is_plain(const ArrayView& tokens) {
  return tokens.scalar == Scalar::float32 && tokens.column_stride == 1 && tokens.row_stride == tokens.columns;
}

// use(first, values): all tokens in order as float32, some rows at a time.
template <typename Use>
void for_rows(const ArrayView& tokens, const Execution& execution, const Use& use) {
  const std::int64_t rows = std::max<std::int64_t>(1, kStagedNumbers / tokens.columns);
  std::vector<float> staged;
  for (std::int64_t first = 0; first < tokens.rows; first += rows) {
    check_stop(execution);
    const std::int64_t count = std::min(rows, tokens.rows - first);
    const auto numbers = static_cast<std::size_t>(count * tokens.columns);
    if (is_plain(tokens)) {
      use(first, std::span(static_cast<const float*>(tokens.data) + first * tokens.columns, numbers));
      continue;
    }
    staged.resize(numbers);
    for (std::int64_t i = 0; i < count; ++i) {
      for (std::int64_t j = 0; j < tokens.columns; ++j) {
        staged[static_cast<std::size_t>(i * tokens.columns + j)] = number(tokens, first + i, j);
      }
    }
    use(first, std::span<const float>(staged));
  }
}

// Whether every number is a bfloat16, the upper half of a float32: such prompts take half the memory, and
// lose nothing.
bool are_halves(const ArrayView& tokens, const Execution& execution) {
  bool halves = true;
  for_rows(tokens, execution, [&](std::int64_t, std::span<const float> values) {
    halves = halves && std::all_of(values.begin(), values.end(),
                                   [](float x) { return (std::bit_cast<std::uint32_t>(x) & 0xffffU) == 0; });
  });
  return halves;
}

void check_room(const ArrayView& tokens, std::size_t bytes) {
  std::size_t left = 0, all = 0;
  cudaMemPool_t pool = nullptr;
  int device = 0;
  check(cudaGetDevice(&device), "memory of the GPU");
  check(cudaDeviceGetDefaultMemPool(&pool, device), "memory of the GPU");
  check(cudaMemPoolTrimTo(pool, 0), "memory of the GPU");  // what the pool keeps is free
  check(cudaMemGetInfo(&left, &all), "memory of the GPU");
  if (bytes <= left) return;
  fail(kName,
       fmt::format(
           "a prompt of {} tokens takes {:.1f} GB and {:.1f} GB are free there: take a shorter one, or "
           "--device cpu",
           tokens.rows, static_cast<double>(bytes) * 1e-9, static_cast<double>(left) * 1e-9));
}

// Tokens on the device, two bytes a number or four.
template <typename T>
DeviceArray<T> upload(const ArrayView& tokens, const Execution& execution) {
  DeviceArray<T> numbers(static_cast<std::size_t>(tokens.rows * tokens.columns));
  std::vector<std::uint16_t> halves;
  for_rows(tokens, execution, [&](std::int64_t first, std::span<const float> values) {
    const auto at = static_cast<std::size_t>(first * tokens.columns);
    if constexpr (sizeof(T) == sizeof(float)) {
      numbers.write(values, at);
    } else {
      halves.resize(values.size());
      std::transform(values.begin(), values.end(), halves.begin(), [](float x) {
        return static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(x) >> 16);
      });
      numbers.write(std::span<const std::uint16_t>(halves), at);
    }
  });
  return numbers;
}

std::vector<float> to_floats(const ConstMatrixRef& values, double factor) {
  std::vector<float> floats;
  for (Eigen::Index q = 0; q < values.cols(); ++q) {
    for (Eigen::Index j = 0; j < values.rows(); ++j)
      floats.push_back(static_cast<float>(values(j, q) * factor));
  }
  return floats;
}

}  // namespace

void CudaTilts::sum_prompt(const ArrayView& tokens, const ConstMatrixRef& directions,
                           const ConstVectorRef& centre, bool covariance, const Execution& execution,
                           std::span<double> rows) const {
  check(cudaSetDevice(device_), "choice of the GPU");
  const int most = covariance ? kMostWithCovariance : kMostTokenNumbers;
  if (tokens.columns > most) {
    fail(kName, "dimension of the tokens", static_cast<double>(tokens.columns),
         fmt::format("at most {}{}: or --device cpu", most,
                     covariance ? " for gradients and linear attention" : ""));
  }
  GivenJob job;
  job.dimension = static_cast<std::int32_t>(tokens.columns);
  job.length = tokens.rows;
  job.covariance = covariance;
  const std::size_t width = token_row(job.dimension, covariance);
  const auto segments = static_cast<std::size_t>(given_segments(job.length));
  const auto at_once =
      static_cast<std::size_t>(std::min<std::int64_t>(directions.cols(), kDirectionsPerPass));
  const auto numbers = static_cast<std::size_t>(tokens.rows * tokens.columns);
  const std::size_t parts_bytes = at_once * segments * width * sizeof(double);
  check_room(tokens, 2 * numbers + parts_bytes);  // before all of them are looked at
  job.halves = are_halves(tokens, execution);
  if (!job.halves) check_room(tokens, 4 * numbers + parts_bytes);

  const DeviceArray<std::uint16_t> halves =
      job.halves ? upload<std::uint16_t>(tokens, execution) : DeviceArray<std::uint16_t>();
  const DeviceArray<float> floats = job.halves ? DeviceArray<float>() : upload<float>(tokens, execution);
  job.tokens = job.halves ? static_cast<const void*>(halves.data()) : static_cast<const void*>(floats.data());
  const DeviceArray<float> middle{std::span<const float>(to_floats(centre, 1))};
  const DeviceArray<float> along{std::span<const float>(to_floats(directions, std::numbers::log2e))};
  job.centre = middle.data();
  DeviceArray<double> parts(at_once * segments * width), sums(at_once * width);
  job.parts = parts.data();
  job.rows = sums.data();
  const Stream stream;
  for (Eigen::Index first = 0; first < directions.cols(); first += kDirectionsPerPass) {
    check_stop(execution);
    const Eigen::Index count = std::min<Eigen::Index>(kDirectionsPerPass, directions.cols() - first);
    job.directions = along.data() + first * tokens.columns;
    job.directions_count = static_cast<std::int32_t>(count);
    check(launch_given_sums(job, stream.get()), "launch of attention");
    check(cudaStreamSynchronize(stream.get()), "attention");
    sums.read(rows.subspan(static_cast<std::size_t>(first) * width, static_cast<std::size_t>(count) * width));
  }
}

}  // namespace largo::cuda
