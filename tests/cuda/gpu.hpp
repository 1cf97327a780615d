// Tests that need a GPU say so and are skipped where there is none.
#pragma once

#include <gtest/gtest.h>

#include <memory>

#include "largo/cuda/cuda_device.hpp"
#include "largo/numerics/check.hpp"

namespace largo {

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
