// Tests that need a GPU say so, and are skipped where there is none.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <thread>

#include "largo/cuda/cuda_device.hpp"
#include "largo/runtime/check.hpp"
#include "largo/runtime/execution.hpp"

namespace largo {

/// LARGO_SHORT_TESTS=1 is for sanitizers, under which everything takes a hundred times as long.
inline bool short_tests() { return std::getenv("LARGO_SHORT_TESTS") != nullptr; }

/// The usual number, or a smaller one for short tests, which follow the same paths but over fewer steps,
/// prompts and tokens.
inline std::int64_t usual_or_short(std::int64_t usual, std::int64_t less) {
  return short_tests() ? less : usual;
}

class GpuTest : public testing::Test {
 protected:
  void SetUp() override {
    if (describe_cuda().find("compute capability") == std::string::npos) {
      GTEST_SKIP() << "no GPU: " << describe_cuda();
    }
    device_ = open_cuda_device();
  }
  const Device& device() const { return *device_; }

 private:
  std::unique_ptr<Device> device_;
};

/// Expects that work which would take hours ends with Stopped, within a second of the request.
template <typename Work>
void expect_stop(const Work& work) {
  using Clock = std::chrono::steady_clock;
  std::atomic<bool> stop = false;
  Clock::time_point asked;
  std::thread later([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(500));
    asked = Clock::now();
    stop = true;
  });
  EXPECT_THROW(work(&stop), Stopped);
  const Clock::time_point ended = Clock::now();
  later.join();
  EXPECT_GT(ended, asked) << "not before";
  EXPECT_LT(ended - asked, std::chrono::seconds(1));
}

}  // namespace largo
