// A place to compute other than the threads of this process, such as a GPU.
//
// Functions that take an Execution hand work to its device if the device is made for it: many prompts or many
// runs at a time. A device draws the same random numbers and does the same arithmetic in the same order, so
// sampled results are bit-identical with and without it. Attention over a given prompt agrees to the
// precision of float32. Work that a device cannot do is an error with a remedy; it is never done on the CPU
// instead.
#pragma once

#include <span>
#include <string>

#include "largo/runtime/check.hpp"

namespace largo {

/// What a device does for one layer of largo. A layer with work for devices declares an engine of its own:
/// tilts in measures, prompts in prompts, descents in icl.
class Engine {
 public:
  virtual ~Engine() = default;

 protected:
  Engine() = default;
  Engine(const Engine&) = default;
  Engine& operator=(const Engine&) = default;
};

class Device {
 public:
  virtual ~Device() = default;

  /// For example "NVIDIA H200".
  virtual std::string name() const = 0;
  /// All engines of this device, in any order. They live as long as the device.
  virtual std::span<const Engine* const> engines() const = 0;

 protected:
  Device() = default;
  Device(const Device&) = default;
  Device& operator=(const Device&) = default;
};

/// The engine of the type `Wanted`. InputError if the device has none.
template <typename Wanted>
const Wanted& engine_of(const Device& device) {
  for (const Engine* engine : device.engines()) {
    if (const auto* found = dynamic_cast<const Wanted*>(engine)) return *found;
  }
  fail("device", device.name() + " cannot do this work; run it on the CPU");
}

}  // namespace largo
