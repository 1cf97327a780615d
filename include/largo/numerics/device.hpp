// Another place to compute than the threads of this process: a GPU.
//
// Functions that take an Execution leave to its device what it is made for, many prompts or many runs at a
// time. A device draws the same random numbers and does the same arithmetic in the same order: sampled
// results have the same bits with and without it; attention over a prompt that is given agrees to the
// precision of float32. What a device cannot do is an error with a remedy, never done here instead.
#pragma once

#include <string>

namespace largo {

class DescentEngine;  // largo/icl/descent_engine.hpp
class PromptEngine;   // sampling/prompt_engine.hpp
class TiltEngine;     // measures/tilt_engine.hpp

class Device {
 public:
  virtual ~Device() = default;

  /// "NVIDIA H200", say.
  virtual std::string name() const = 0;
  virtual const DescentEngine& descents() const = 0;
  virtual const PromptEngine& prompts() const = 0;
  virtual const TiltEngine& tilts() const = 0;

 protected:
  Device() = default;
  Device(const Device&) = default;
  Device& operator=(const Device&) = default;
};

}  // namespace largo
