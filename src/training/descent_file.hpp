// The file of a descent's state in memory: load_descent() and save_descent() without the file system.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "largo/training/stochastic_descent.hpp"

namespace largo::training {

/// `name` is the file's name in messages. Errors are those of load_descent().
DescentState read_descent(std::span<const std::byte> bytes, const std::string& name);

/// Writes the checksum of the bytes into its place, if they have one.
void seal_descent(std::string& bytes);

}  // namespace largo::training
