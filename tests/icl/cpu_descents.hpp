// The engine of a device for descents, on the CPU: what a device must give back.
#pragma once

#include <gtest/gtest.h>

#include <exception>
#include <vector>

#include "icl/training/descent_engine.hpp"
#include "largo/icl/regression_maps.hpp"

namespace largo::test {

/// Counts its calls and the descents that it began. The first that diverges ends the call.
class CpuDescents final : public icl::DescentEngine {
 public:
  void descend(const RegressionProblem& problem, Parametrisation parameters, const DescentOptions& options,
               std::vector<icl::RegressionDescent>& runs) const override {
    EXPECT_EQ(parameters, Parametrisation::invariant);
    ++calls;
    for (icl::RegressionDescent& run : runs) {
      ++count;
      const auto risk =
          in_parameters(regression_batches(problem, run.batches), invariant_map(problem.dimension()));
      try {
        run.state = largo::descend(*risk, run.state, options);
      } catch (...) {
        run.error = std::current_exception();
        return;
      }
    }
    if (options.progress) options.progress(1);
  }
  mutable int calls = 0, count = 0;
};

}  // namespace largo::test
