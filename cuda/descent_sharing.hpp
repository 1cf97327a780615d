// How runs share a GPU: the longest get the most blocks of threads.
#pragma once

#include <cstddef>
#include <vector>

#include "descent_kernel.hpp"
#include "icl/training/descent_engine.hpp"

namespace largo::cuda {

/// Runs of one shape, by their places in the list of all runs: they make one launch.
struct DescentGroup {
  DescentShape shape;
  std::vector<std::size_t> runs;
};

/// The groups of all runs, the largest clusters first. If more blocks of threads are wanted than the device
/// holds at a time, smaller parts fill the last round better.
std::vector<DescentGroup> share_chip(const std::vector<icl::RegressionDescent>& descents,
                                     const Residents& residents);

}  // namespace largo::cuda
