#include "estimation/simulated_errors.hpp"

#include <gtest/gtest.h>

#include "largo/runtime/check.hpp"

namespace largo::simulated_errors_test {
namespace {

estimation::ErrorSimulation small() {
  estimation::ErrorSimulation settings;
  settings.prompts = 3000;
  settings.lengths = {1, 4, 25};
  return settings;
}

// There are 33 distances with fixed seeds, each beyond 4 with probability 6e-5 for a new seed.
TEST(SimulatedErrors, AgreeWithTheExactOnes) {
  for (const estimation::SimulatedErrors& row : estimation::simulate_gaussian_errors(small())) {
    EXPECT_LE(row.worst_z_score(), 4) << "L = " << row.length;
    EXPECT_GT(row.sampled.output.standard_error, 0);
    EXPECT_LT(row.sampled.output.standard_error, 0.2 * row.sampled.output.value);
  }
  for (const estimation::SimulatedLaw& row : estimation::simulate_law_errors(small())) {
    EXPECT_LE(row.z_score(), 4) << row.law << ", " << row.error << ", L = " << row.length;
    EXPECT_LT(row.sampled.standard_error, 0.2 * row.sampled.value);
  }
}

TEST(SimulatedErrors, RefuseBadSettings) {
  estimation::ErrorSimulation settings = small();
  settings.lengths = {0};
  EXPECT_THROW(estimation::simulate_gaussian_errors(settings), InputError);
  EXPECT_THROW(estimation::simulate_law_errors(settings), InputError);
  settings = small();
  settings.prompts = 1;
  EXPECT_THROW(estimation::simulate_gaussian_errors(settings), InputError);
  settings = small();
  settings.dimension = 0;
  EXPECT_THROW(estimation::simulate_law_errors(settings), InputError);
}

}  // namespace
}  // namespace largo::simulated_errors_test
