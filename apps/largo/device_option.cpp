#include "device_option.hpp"

#include <memory>

#include "arguments.hpp"
#include "largo/runtime/check.hpp"
#ifdef LARGO_HAS_CUDA
#include "largo/cuda/cuda_device.hpp"
#endif

namespace largo {

void add_device_option(CLI::App& command, std::string& device, const char* description) {
  command.add_option("--device", device, description)->check(one_of({"cpu", "cuda"}))->capture_default_str();
}

#ifdef LARGO_HAS_CUDA

const Device* named_device(const std::string& name) {
  if (name == "cpu") return nullptr;
  static const std::unique_ptr<Device> device = open_cuda_device(cuda_device_of_process());
  return device.get();
}

std::string describe_devices() { return describe_cuda(); }
bool cuda_in_this_build() { return true; }

#else

const Device* named_device(const std::string& name) {
  if (name == "cpu") return nullptr;
  fail("--device",
       "cuda is not in this build: install the CUDA toolkit and configure again (docs/gpu.md), or run "
       "on the CPU (--device cpu)");
}

std::string describe_devices() {
  return "not in this build (install the CUDA toolkit, nvcc, and configure again)";
}
bool cuda_in_this_build() { return false; }

#endif

}  // namespace largo
