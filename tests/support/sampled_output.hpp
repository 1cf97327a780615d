// The error of an output with two coordinates over drawn prompts, against its exact mean square and bias.
#pragma once

#include <gtest/gtest.h>

#include "largo/exact/score_law_error.hpp"
#include "support/sampled_mean.hpp"

namespace largo::test {

class SampledOutput {
 public:
  void add(const Vector& x) {
    square_.add(x.squaredNorm());
    first_.add(x[0]);
    second_.add(x[1]);
  }
  /// Expects all three means within so many standard errors.
  void expect(const OutputError& exact, double most_z) const {
    EXPECT_LE(square_.z_score(exact.mse), most_z);
    EXPECT_LE(first_.z_score(exact.bias[0]), most_z);
    EXPECT_LE(second_.z_score(exact.bias[1]), most_z);
  }

 private:
  SampledMean square_, first_, second_;
};

}  // namespace largo::test
