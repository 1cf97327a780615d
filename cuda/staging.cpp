#include "staging.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstring>

#include "runtime/distribute.hpp"

namespace largo::cuda {
namespace {

constexpr std::int64_t kTaskNumbers = std::int64_t{1} << 15;  // numbers that a thread converts at a time

std::int64_t rows_of(std::int64_t numbers, const ArrayView& tokens) {
  return std::max<std::int64_t>(1, numbers / tokens.columns);
}

bool is_plain(const ArrayView& tokens) {
  return tokens.scalar == Scalar::float32 && tokens.column_stride == 1 && tokens.row_stride == tokens.columns;
}

// Calls use(i, x) for the numbers of tokens first, ..., first + count - 1, in order, as float32.
template <typename Use>
void for_numbers(const ArrayView& tokens, std::int64_t first, std::int64_t count, const Use& use) {
  if (is_plain(tokens)) {
    const float* const numbers = static_cast<const float*>(tokens.data) + first * tokens.columns;
    for (std::int64_t i = 0; i < count * tokens.columns; ++i) use(i, numbers[i]);
    return;
  }
  for (std::int64_t i = 0; i < count; ++i) {
    for (std::int64_t j = 0; j < tokens.columns; ++j) {
      use(i * tokens.columns + j, static_cast<float>(tokens(first + i, j)));
    }
  }
}

void convert(const ArrayView& tokens, std::int64_t first, std::int64_t count, bool halves, std::byte* to) {
  if (halves) {
    auto* const upper = reinterpret_cast<std::uint16_t*>(to);
    for_numbers(tokens, first, count, [&](std::int64_t i, float x) {
      upper[i] = static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(x) >> 16);
    });
  } else if (is_plain(tokens)) {
    std::memcpy(to, static_cast<const float*>(tokens.data) + first * tokens.columns,
                static_cast<std::size_t>(count * tokens.columns) * sizeof(float));
  } else {
    auto* const numbers = reinterpret_cast<float*>(to);
    for_numbers(tokens, first, count, [&](std::int64_t i, float x) { numbers[i] = x; });
  }
}

// Calls use(first, count) for the tokens from `first` on, shared out among the threads, some rows at a time.
template <typename Use>
void in_tasks(const ArrayView& tokens, std::int64_t first, std::int64_t count, const Execution& execution,
              const Use& use) {
  const std::int64_t rows = rows_of(kTaskNumbers, tokens);
  runtime::parallel_for((count + rows - 1) / rows, execution, [&](std::ptrdiff_t task) {
    runtime::check_stop(execution);
    use(first + task * rows, std::min(rows, count - task * rows));
  });
}

}  // namespace

bool are_halves(const ArrayView& tokens, const Execution& execution) {
  std::atomic<bool> halves = true;
  // In most prompts, the first tokens decide.
  constexpr std::int64_t kFirstLook = 64;
  for (const std::int64_t end : {std::min(kFirstLook, tokens.rows), tokens.rows}) {
    in_tasks(tokens, 0, end, execution, [&](std::int64_t first, std::int64_t count) {
      if (!halves.load(std::memory_order_relaxed)) return;
      std::uint32_t lower = 0;
      for_numbers(tokens, first, count,
                  [&](std::int64_t, float x) { lower |= std::bit_cast<std::uint32_t>(x) & 0xffffU; });
      if (lower != 0) halves = false;
    });
    if (!halves) return false;
  }
  return true;
}

void Staging::copy(const ArrayView& tokens, std::int64_t first, std::int64_t count, bool halves,
                   const Execution& execution, void* to, cudaStream_t stream) {
  const std::size_t row_bytes = static_cast<std::size_t>(tokens.columns) * number_size(halves);
  const auto rows = static_cast<std::int64_t>(kSlotBytes / row_bytes);
  for (std::int64_t done = 0; done < count; done += rows) {
    if (slots_.size() < kSlots) slots_.push_back({PinnedArray<std::byte>(kSlotBytes), Event()});
    Slot& slot = slots_[next_++ % kSlots];
    slot.copied.wait("copy to the GPU");
    const std::int64_t now = std::min(rows, count - done);
    in_tasks(tokens, first + done, now, execution, [&](std::int64_t at, std::int64_t some) {
      convert(tokens, at, some, halves,
              slot.memory.data() + static_cast<std::size_t>(at - first - done) * row_bytes);
    });
    check(cudaMemcpyAsync(static_cast<std::byte*>(to) + static_cast<std::size_t>(done) * row_bytes,
                          slot.memory.data(), static_cast<std::size_t>(now) * row_bytes,
                          cudaMemcpyHostToDevice, stream),
          "copy to the GPU");
    slot.copied.record(stream);
  }
}

std::unique_ptr<Staging> StagingShelf::take() {
  const std::lock_guard lock(mutex_);
  if (kept_.empty()) return std::make_unique<Staging>();
  std::unique_ptr<Staging> staging = std::move(kept_.back());
  kept_.pop_back();
  return staging;
}

void StagingShelf::put_back(std::unique_ptr<Staging> staging) {
  const std::lock_guard lock(mutex_);
  kept_.push_back(std::move(staging));
}

}  // namespace largo::cuda
