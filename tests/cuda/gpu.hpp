// Tests that need a GPU say so and are skipped where there is none.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <memory>

#include "largo/cuda/cuda_device.hpp"
#include "largo/numerics/check.hpp"

namespace largo {

/// The usual number, or with LARGO_SHORT_TESTS=1 a smaller one: for sanitizers, under which everything takes
/// a hundred times as long. Tests go the same ways with it, over fewer steps, prompts and tokens.
inline std::int64_t usual_or_short(std::int64_t usual, std::int64_t less) {
  return std::getenv("LARGO_SHORT_TESTS") != nullptr ? less : usual;
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

}  // namespace largo
