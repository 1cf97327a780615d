// The tokens of a mixture shared out to its components, as src/prompts/labels.hpp has it.
#pragma once

#include "draws.cuh"

namespace largo::cuda {

/// The first component whose cumulative probability, of `count` of them, is above the draw.
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
