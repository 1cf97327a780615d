// The file of a descent's state in memory: what load_descent() and save_descent() do beside the file system.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "largo/training/stochastic_descent.hpp"

namespace largo::training {

/// `name` is the file's name in messages. Errors as load_descent().
DescentState read_descent(std::span<const std::byte> bytes, const std::string& name);

/// Puts the checksum of the bytes in its place, if they have one.
void seal_descent(std::string& bytes);

}  // namespace largo::training
