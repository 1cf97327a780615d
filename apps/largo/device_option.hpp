// --device cpu|cuda, for commands that draw many prompts.
#pragma once

#include <string>

#include <CLI/CLI.hpp>

#include "largo/runtime/device.hpp"

namespace largo {

void add_device_option(
    CLI::App& command, std::string& device,
    const char* description =
        "Device that draws the prompts: cpu or cuda (an NVIDIA GPU). The numbers are the same.");

/// The named device, opened at the first call and kept; null for cpu. Throws InputError if there is none.
const Device* named_device(const std::string& name);

/// For doctor: the devices of this machine, or why there are none.
std::string describe_devices();
/// Whether this build has the kernels for GPUs.
bool cuda_in_this_build();

}  // namespace largo
