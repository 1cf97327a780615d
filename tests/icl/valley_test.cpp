// Long prompts in closed form: on the valley ba = 1 of R_∞, only E[P_2] ≈ e^{s²}/L is left of the prompt, and
// Gaussian integrals give L R_L -> d/2 (1 - 2t)^{-d/2-1} (1 - t)/t with t = a², for Σ = Σ_q = Ω = I.
#include <cmath>

#include <gtest/gtest.h>

#include "largo/icl/invariant_risk.hpp"
#include "largo/icl/regression_flow.hpp"

namespace largo::valley_test {
namespace {

double valley(int d, double t) { return d / 2.0 * std::pow(1 - 2 * t, -d / 2.0 - 1) * (1 - t) / t; }

// The root of (d + 2) t (1 - t) = 1 - 2t below ½, where the valley is lowest.
double lowest(int d) {
  const double n = d + 4;
  return (n - std::sqrt(n * n - 4 * (d + 2))) / (2 * (d + 2));
}

// The neglected terms are smaller by E[P_2]/L or so: 1e-4 here, with a margin for the tails of e^{s²}.
constexpr double kRelative = 1e-3;

TEST(Valley, RisksOfLongPrompts) {
  for (const int d : {1, 2, 5, 9}) {
    const auto risk = invariant_risk(paper_problem(Matrix::Identity(d, d)), AttentionKind::softmax, 1e12);
    for (const double t : {0.02, 0.08, 0.15}) {
      const double a = std::sqrt(t);
      Vector parameters(d * d + 1);
      parameters << Matrix(a * Matrix::Identity(d, d)).reshaped(), 1 / a;
      EXPECT_NEAR(1e12 * risk->at(parameters).value / valley(d, t), 1, kRelative)
          << "d = " << d << ", t = " << t;
    }
  }
}

TEST(Valley, TrainingEndsWhereItIsLowest) {
  for (const int d : {2, 5, 9}) {
    const RegressionProblem problem = paper_problem(Matrix::Identity(d, d));
    const RegressionFlow flow = regression_flow(
        problem, AttentionKind::softmax, 1e9, paper_start(problem, 0.5 * largest_admissible_alpha(problem)));
    const double t = lowest(d);
    EXPECT_NEAR(flow.last.b, 1 / std::sqrt(t), kRelative / std::sqrt(t)) << d;
    EXPECT_NEAR(1e9 * flow.flow.last.value, valley(d, t), kRelative * valley(d, t)) << d;
    EXPECT_TRUE(flow.flow.stationary);
  }
}

}  // namespace
}  // namespace largo::valley_test
