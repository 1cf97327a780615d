#include "largo/exact/simulated_errors.hpp"

#include <gtest/gtest.h>

#include "largo/numerics/check.hpp"

namespace largo {
namespace {

ErrorSimulation small() {
  ErrorSimulation settings;
  settings.prompts = 3000;
  settings.lengths = {1, 4, 25};
  return settings;
}

TEST(SimulatedErrors, AgreeWithTheExactOnes) {
  // Nine distances with fixed seeds; each beyond 4 with probability 6e-5 for a new seed.
  for (const SimulatedErrors& row : simulate_gaussian_errors(small())) {
    EXPECT_LE(row.worst_z_score(), 4) << "L = " << row.length;
    EXPECT_GT(row.output.error, 0);
    EXPECT_LT(row.output.error, 0.2 * row.output.value);
  }
}

TEST(SimulatedErrors, SameBitsForAnyNumberOfThreads) {
  const auto one = simulate_gaussian_errors(small(), {1, 0});
  for (const int threads : {2, 7}) {
    const auto many = simulate_gaussian_errors(small(), {threads, 0});
    for (std::size_t i = 0; i < one.size(); ++i) {
      EXPECT_EQ(one[i].output.value, many[i].output.value);
      EXPECT_EQ(one[i].gradient_U.value, many[i].gradient_U.value);
    }
  }
}

TEST(SimulatedErrors, RefuseBadSettings) {
  ErrorSimulation settings = small();
  settings.lengths = {0};
  EXPECT_THROW(simulate_gaussian_errors(settings), InputError);
  settings = small();
  settings.prompts = 1;
  EXPECT_THROW(simulate_gaussian_errors(settings), InputError);
}

}  // namespace
}  // namespace largo
