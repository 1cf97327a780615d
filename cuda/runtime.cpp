#include "runtime.hpp"

#include <string_view>

#include <fmt/format.h>

#include "largo/runtime/check.hpp"

namespace largo::cuda {
namespace {

constexpr const char* kName = "cuda";

std::string version_text(int version) { return fmt::format("{}.{}", version / 1000, version % 1000 / 10); }

std::string remedy_of(cudaError_t error, const char* what) {
  switch (error) {
    case cudaErrorNoDevice:
      return "there is no NVIDIA GPU on this machine: run where there is one, or on the CPU";
    case cudaErrorInsufficientDriver:
      return fmt::format("{}: install one for CUDA {} or later, or run on the CPU", driver_problem(),
                         version_text(CUDART_VERSION));
    case cudaErrorMemoryAllocation: {
      std::size_t left = 0, all = 0;
      cudaMemGetInfo(&left, &all);
      return fmt::format(
          "not enough memory on the GPU ({:.1f} GB of {:.1f} are free): take fewer runs, prompts or tokens "
          "at a time, or run on the CPU",
          static_cast<double>(left) * 1e-9, static_cast<double>(all) * 1e-9);
    }
    case cudaErrorNoKernelImageForDevice:
      return "this build has no code for this GPU (it has for compute capability 8.0 and up): run on "
             "the CPU";
    default:
      return fmt::format("{}: {} ({}); largo doctor says what this build has; the CPU works without it", what,
                         cudaGetErrorString(error), cudaGetErrorName(error));
  }
}

}  // namespace

std::string driver_problem() {
  int driver = 0;  // stays 0 if there is none
  cudaDriverGetVersion(&driver);
  if (driver == 0) return "there is no NVIDIA driver on this machine";
  return fmt::format("the NVIDIA driver is too old, for CUDA {}", version_text(driver));
}

void check(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return;
  cudaGetLastError();  // clears the error, so that the next call does not report it
  fail(kName, remedy_of(error, what));
}

void check(const char* error, const char* what) {
  if (std::string_view(error).empty()) return;
  cudaGetLastError();
  fail(kName, fmt::format("{}: {}; the CPU works without it", what, error));
}

}  // namespace largo::cuda
