// CUDA's runtime with errors as exceptions, whose messages are one line with a remedy.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <span>
#include <string>
#include <utility>

namespace largo::cuda {

/// Throws InputError unless the call succeeded; `what` says what it was for.
void check(cudaError_t error, const char* what);
/// The same for a launch of ours, which returns an empty text on success.
void check(const char* error, const char* what);

/// The reason for cudaErrorInsufficientDriver: there is no driver, or one for an older CUDA than ours.
std::string driver_problem();

/// Numbers on the device, from a pool that keeps freed memory for reuse.
template <typename T>
class DeviceArray {
 public:
  DeviceArray() = default;
  explicit DeviceArray(std::size_t size) { resize(size); }
  explicit DeviceArray(std::span<const T> values) : DeviceArray(values.size()) { write(values); }
  DeviceArray(DeviceArray&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  DeviceArray& operator=(DeviceArray&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
  }
  ~DeviceArray() { release(); }

  T* data() const { return data_; }
  std::size_t size() const { return size_; }
  /// Discards the contents, unless the size stays the same.
  void resize(std::size_t size) {
    if (size == size_) return;
    release();
    if (size == 0) return;
    void* memory = nullptr;
    check(cudaMallocAsync(&memory, size * sizeof(T), nullptr), "memory");
    check(cudaStreamSynchronize(nullptr), "memory");  // so that all streams can use it
    data_ = static_cast<T*>(memory);
    size_ = size;
  }
  void write(std::span<const T> values, std::size_t first = 0) {
    check(cudaMemcpy(data_ + first, values.data(), values.size_bytes(), cudaMemcpyHostToDevice),
          "copy to the GPU");
    check(cudaStreamSynchronize(nullptr), "copy to the GPU");  // cudaMemcpy may return before the end
  }
  void read(std::span<T> values, std::size_t first = 0) const {
    check(cudaMemcpy(values.data(), data_ + first, values.size_bytes(), cudaMemcpyDeviceToHost),
          "copy from the GPU");
  }

 private:
  // Nothing uses the memory any more: whoever launches a kernel waits for it.
  void release() {
    if (data_ != nullptr) cudaFreeAsync(std::exchange(data_, nullptr), nullptr);
    size_ = 0;
  }

  T* data_ = nullptr;
  std::size_t size_ = 0;
};

/// Host memory that copies to the device can read while the program goes on.
template <typename T>
class PinnedArray {
 public:
  explicit PinnedArray(std::size_t size) : size_(size) {
    void* memory = nullptr;
    check(cudaMallocHost(&memory, size * sizeof(T)), "pinned memory");
    data_ = static_cast<T*>(memory);
  }
  PinnedArray(PinnedArray&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  PinnedArray& operator=(PinnedArray&&) = delete;
  ~PinnedArray() {
    if (data_ != nullptr) cudaFreeHost(data_);
  }
  T* data() const { return data_; }
  std::size_t size() const { return size_; }

 private:
  T* data_ = nullptr;
  std::size_t size_ = 0;
};

/// Marks the end of the work that a stream was given so far.
class Event {
 public:
  Event() {
    check(cudaEventCreateWithFlags(&event_, cudaEventDisableTiming | cudaEventBlockingSync), "event");
  }
  Event(Event&& other) noexcept : event_(std::exchange(other.event_, nullptr)) {}
  Event& operator=(Event&&) = delete;
  ~Event() {
    if (event_ != nullptr) cudaEventDestroy(event_);
  }
  void record(cudaStream_t stream) { check(cudaEventRecord(event_, stream), "event"); }
  /// Returns at once if nothing was recorded.
  void wait(const char* what) const { check(cudaEventSynchronize(event_), what); }
  void hold(cudaStream_t stream) const { check(cudaStreamWaitEvent(stream, event_, 0), "event"); }

 private:
  cudaEvent_t event_ = nullptr;
};

class Stream {
 public:
  Stream() { check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "stream"); }
  Stream(Stream&& other) noexcept : stream_(std::exchange(other.stream_, nullptr)) {}
  Stream& operator=(Stream&&) = delete;
  ~Stream() {
    if (stream_ != nullptr) cudaStreamDestroy(stream_);
  }
  cudaStream_t get() const { return stream_; }

 private:
  cudaStream_t stream_ = nullptr;
};

}  // namespace largo::cuda
