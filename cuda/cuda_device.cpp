#include "largo/cuda/cuda_device.hpp"

#include <array>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <string>

#include <fmt/format.h>

#include "attention_engine.hpp"
#include "descent_engine.hpp"
#include "largo/runtime/check.hpp"
#include "prompt_engine.hpp"
#include "runtime.hpp"

namespace largo {
namespace {

constexpr int kOldestMajor = 8;

class CudaDevice final : public Device {
 public:
  explicit CudaDevice(int index) : descents_(index), prompts_(index), tilts_(index) {
    int count = 0;
    cuda::check(cudaGetDeviceCount(&count), "search for GPUs");
    if (index < 0 || index >= count) {
      fail("cuda",
           fmt::format("there is no GPU {}, but {} in all, one for each process: start as many processes on "
                       "this machine, or run on the CPU",
                       index, count));
    }
    cuda::check(cudaGetDeviceProperties(&properties_, index), "properties of the GPU");
    if (properties_.major < kOldestMajor) {
      fail("cuda", fmt::format("{} has compute capability {}.{}: largo needs {}.0 or later; run on the CPU",
                               properties_.name, properties_.major, properties_.minor, kOldestMajor));
    }
    cuda::check(cudaSetDevice(index), "choice of the GPU");
    cudaMemPool_t pool = nullptr;
    cuda::check(cudaDeviceGetDefaultMemPool(&pool, index), "memory of the GPU");
    std::uint64_t kept = std::numeric_limits<std::uint64_t>::max();
    cuda::check(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &kept), "memory of the GPU");
    // A thread that waits for the GPU leaves its core to others.
    cuda::check(cudaSetDeviceFlags(cudaDeviceScheduleBlockingSync), "choice of the GPU");
  }

  std::string name() const override { return properties_.name; }
  std::span<const Engine* const> engines() const override { return engines_; }

 private:
  cudaDeviceProp properties_ = {};
  cuda::CudaDescents descents_;
  cuda::CudaPrompts prompts_;
  cuda::CudaTilts tilts_;
  std::array<const Engine*, 3> engines_ = {&descents_, &prompts_, &tilts_};
};

}  // namespace

std::unique_ptr<Device> open_cuda_device(int index) { return std::make_unique<CudaDevice>(index); }

int cuda_device_of_process() {
  // Some schedulers show every process only its own GPU.
  const char* visible = std::getenv("CUDA_VISIBLE_DEVICES");
  if (visible != nullptr && *visible != '\0' && std::strchr(visible, ',') == nullptr) return 0;
  for (const char* name :
       {"OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "PMI_LOCAL_RANK", "SLURM_LOCALID"}) {
    const char* rank = std::getenv(name);
    if (rank != nullptr && *rank != '\0') return std::atoi(rank);
  }
  return 0;
}

std::string describe_cuda() {
  const std::string version = fmt::format("CUDA {}.{}", CUDART_VERSION / 1000, CUDART_VERSION % 1000 / 10);
  int count = 0;
  const cudaError_t error = cudaGetDeviceCount(&count);
  if (error == cudaErrorInsufficientDriver) {
    return fmt::format("{}; {}", version, cuda::driver_problem());
  }
  if (error != cudaSuccess || count == 0) return fmt::format("{}; no GPU on this machine", version);
  cudaDeviceProp properties = {};
  cudaGetDeviceProperties(&properties, 0);
  return fmt::format("{}; {}{} (compute capability {}.{}, {:.1f} GB)", version,
                     count > 1 ? fmt::format("{} GPUs, the first a ", count) : "", properties.name,
                     properties.major, properties.minor,
                     static_cast<double>(properties.totalGlobalMem) * 1e-9);
}

}  // namespace largo
