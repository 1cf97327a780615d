// A GPU of NVIDIA's as a device: prompts and descents with the random numbers, and the bits, of the CPU.
#pragma once

#include <memory>
#include <string>

#include "largo/runtime/device.hpp"

namespace largo {

/// GPU number `index` of this machine, for the calling process. InputError, with a remedy, where there is
/// none, the driver is too old, or the GPU older than compute capability 8.0.
std::unique_ptr<Device> open_cuda_device(int index = 0);

/// The GPU for this process of several on the machine: one each, by its rank there (Open MPI, MPICH, Slurm);
/// the first one where nothing started several.
int cuda_device_of_process();

/// "CUDA 13.0; NVIDIA H200 (compute capability 9.0, 139.8 GB)", or why there is no GPU. Never throws.
std::string describe_cuda();

}  // namespace largo
