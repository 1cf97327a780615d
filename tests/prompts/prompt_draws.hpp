// Shared by the tests of the kernels: a prompt's draws as a kernel addresses them, and the kernels' names.
#pragma once

#include <string>

#include <gtest/gtest.h>

#include "largo/prompts/prompt_kernel.hpp"
#include "largo/runtime/matrix.hpp"
#include "random/float_draws.hpp"
#include "runtime/aligned_vector.hpp"

namespace largo::test {

/// The d standard normals of the task, then those of the query.
inline Vector prompt_draws(std::uint64_t seed, std::uint64_t prompt, std::ptrdiff_t d) {
  const auto groups = (static_cast<std::size_t>(d) + random::kTokensAtOnce) / random::kTokensAtOnce;
  runtime::AlignedVector<float> task(groups * random::kTokensAtOnce), query(groups * random::kTokensAtOnce);
  random::token_normals({seed, prompt, std::uint64_t{1} << 62}, groups, task.data(), query.data());
  Vector draws(2 * d);
  for (std::ptrdiff_t i = 0; i < d; ++i) {
    draws[i] = double{task[static_cast<std::size_t>(i)]};
    draws[d + i] = double{query[static_cast<std::size_t>(i)]};
  }
  return draws;
}

/// The last part of the name of a test that runs with each kernel.
inline std::string kernel_name(const ::testing::TestParamInfo<PromptKernel>& kernel) {
  return kernel.param == PromptKernel::full ? "Full" : "Collapsed";
}

}  // namespace largo::test
