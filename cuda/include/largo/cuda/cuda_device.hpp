// An NVIDIA GPU as a device. Prompts and descents use the same random numbers as on the CPU and are
// bit-identical.
#pragma once

#include <memory>
#include <string>

#include "largo/runtime/device.hpp"

namespace largo {

/// GPU number `index` of this machine, for the calling process. Throws InputError, with a remedy, if there is
/// no such GPU, the driver is too old, or the GPU is older than compute capability 8.0.
std::unique_ptr<Device> open_cuda_device(int index = 0);

/// The GPU to use if several processes run on this machine: each gets one, by its rank on the machine (Open
/// MPI, MPICH, Slurm). It is the first GPU if only one process was started.
int cuda_device_of_process();

/// For example "CUDA 13.0; NVIDIA H200 (compute capability 9.0, 139.8 GB)", or why there is no GPU. Never
/// throws.
std::string describe_cuda();

}  // namespace largo
