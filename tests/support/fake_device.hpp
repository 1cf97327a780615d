// A device that is this process: its engines are the CPU's own kernels.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "largo/runtime/device.hpp"

namespace largo {

/// Hands out the engines it is given, which must outlive it.
class FakeDevice final : public Device {
 public:
  explicit FakeDevice(std::vector<const Engine*> engines = {}) : engines_(std::move(engines)) {}

  std::string name() const override { return "this process"; }
  std::span<const Engine* const> engines() const override { return engines_; }

 private:
  std::vector<const Engine*> engines_;
};

}  // namespace largo
