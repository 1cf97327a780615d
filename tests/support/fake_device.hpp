// A device that is this process: what engines are asked for, by the CPU's own kernels.
#pragma once

#include <stdexcept>
#include <string>

#include "largo/numerics/device.hpp"

namespace largo {

/// Hands out the engines it is given.
class FakeDevice final : public Device {
 public:
  const DescentEngine* descent_engine = nullptr;
  const PromptEngine* prompt_engine = nullptr;
  const TiltEngine* tilt_engine = nullptr;

  std::string name() const override { return "this process"; }
  const DescentEngine& descents() const override { return given(descent_engine); }
  const PromptEngine& prompts() const override { return given(prompt_engine); }
  const TiltEngine& tilts() const override { return given(tilt_engine); }

 private:
  template <typename Engine>
  static const Engine& given(const Engine* engine) {
    if (engine == nullptr) throw std::logic_error("this engine is not in the test");
    return *engine;
  }
};

}  // namespace largo
