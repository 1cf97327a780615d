// Assigns the tokens of a mixture to its components, as in src/prompts/labels.hpp.
#pragma once

#include "draws.cuh"

namespace largo::cuda {

/// The first of `count` components whose cumulative probability is above the draw.
LARGO_HOST_DEVICE int label_of(std::uint32_t high, std::uint32_t low, const double* cumulative, int count) {
  const double target = prompts::open_uniform(high, low) * cumulative[count - 1];
  int first = 0, last = count - 1;
  while (first < last) {
    const int middle = (first + last) / 2;
    if (target < cumulative[middle]) {
      last = middle;
    } else {
      first = middle + 1;
    }
  }
  return first;
}

}  // namespace largo::cuda
