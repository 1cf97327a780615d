#include "largo/training/stochastic_descent.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <limits>
#include <string>

#include "quadratic.hpp"

namespace largo::stochastic_descent_test {
namespace {

using test::options_of;
using test::Quadratic;
using test::start;

// Textbook formulas, one number at a time, in extended precision: 50 steps of a stable recursion lose less
// than 1e-13.
TEST(StochasticDescent, FollowsTheFormulas) {
  constexpr Eigen::Index kSize = 3;
  constexpr int kSteps = 50;
  constexpr double kTolerance = 1e-13;
  for (const Optimizer optimizer : {Optimizer::plain, Optimizer::momentum, Optimizer::adam}) {
    DescentOptions options = options_of(optimizer, 1, kSteps);
    options.step_size = [](std::int64_t k) { return 0.05 / (1 + 0.1 * static_cast<double>(k)); };
    options.momentum = 0.8;
    options.squares = 0.95;
    options.epsilon = 1e-3;
    const DescentState got = descend(Quadratic(kSize), start(kSize), options);
    long double time = 0;
    for (int k = 0; k < kSteps; ++k) time += 0.05L / (1 + 0.1L * k);
    EXPECT_NEAR(got.time, static_cast<double>(time), kTolerance);
    for (Eigen::Index i = 0; i < kSize; ++i) {
      long double theta = start(kSize).parameters[i], v = 0, first = 0, second = 0;
      for (int k = 0; k < kSteps; ++k) {
        const long double eta = 0.05L / (1 + 0.1L * k);
        const long double g = Quadratic::curvature(i) * (theta - Quadratic::target(i, k));
        if (optimizer == Optimizer::plain) {
          theta -= eta * g;
        } else if (optimizer == Optimizer::momentum) {  // Polyak: θ' = θ - ηg + β(θ - θ_before), rescaled
          v = 0.8L * v - g;
          theta += eta * v;
        } else {
          first = 0.8L * first + 0.2L * g;
          second = 0.95L * second + 0.05L * g * g;
          const long double unbiased = first / (1 - std::pow(0.8L, k + 1));
          theta -= eta * unbiased / (std::sqrt(second / (1 - std::pow(0.95L, k + 1))) + 1e-3L);
        }
      }
      EXPECT_NEAR(got.parameters[i], static_cast<double>(theta), kTolerance) << static_cast<int>(optimizer);
    }
  }
}

TEST(StochasticDescent, RecordsMeansSinceTheLastRecord) {
  DescentOptions options = options_of(Optimizer::plain, 0.01, 10);
  options.record_every = 4;
  const Quadratic risk(2);
  const DescentState got = descend(risk, start(2), options);
  ASSERT_EQ(got.records.size(), 4U);  // 0, 4, 8, 10
  Vector theta = start(2).parameters;
  double sum = 0, count = 0;
  std::size_t record = 0;
  EXPECT_EQ(got.records[0].loss, risk.batch(theta, 0).value);
  EXPECT_EQ(got.records[0].parameters, theta);
  for (std::int64_t k = 0; k < 10; ++k) {
    const RiskPoint point = risk.batch(theta, k);
    theta -= 0.01 * point.gradient;
    sum += point.value;
    ++count;
    if (k != 3 && k != 7 && k != 9) continue;
    ++record;
    EXPECT_EQ(got.records[record].step, k + 1);
    EXPECT_NEAR(got.records[record].time, 0.01 * static_cast<double>(k + 1), 1e-15);
    EXPECT_NEAR(got.records[record].loss, sum / count, 1e-14);
    EXPECT_EQ(got.records[record].parameters, theta);
    sum = count = 0;
  }
}

TEST(StochasticDescent, IsAPathInTime) {
  DescentOptions options = options_of(Optimizer::plain, 0.25, 6);
  options.record_every = 2;
  const DescentState got = descend(Quadratic(2), start(2), options);
  const Trajectory path = trajectory_of(got);
  EXPECT_EQ(path.end(), 1.5);
  EXPECT_EQ(path.at(1), got.records[2].parameters);
  const Vector between = 0.75 * got.records[1].parameters + 0.25 * got.records[2].parameters;
  EXPECT_LT((path.at(0.625) - between).norm(), 1e-15);
}

TEST(StochasticDescent, NoticesAStop) {
  std::atomic<bool> stop = true;
  DescentOptions options = options_of(Optimizer::plain, 0.01, 100);
  options.execution.stop = &stop;
  EXPECT_THROW(descend(Quadratic(2), start(2), options), Stopped);
}

std::int64_t step_of_divergence(const StochasticRisk& risk, const DescentOptions& options,
                                const std::string& words) {
  try {
    descend(risk, start(risk.size()), options);
  } catch (const Diverged& error) {
    const std::string line = error.what();
    EXPECT_NE(line.find(words), std::string::npos) << line;
    EXPECT_NE(line.find("step " + std::to_string(error.step()) + ":"), std::string::npos) << line;
    EXPECT_NE(line.find("smaller steps"), std::string::npos) << line;
    EXPECT_EQ(line.find('\n'), std::string::npos);
    return error.step();
  }
  return -1;
}

TEST(StochasticDescent, ReportsTheStepOfDivergence) {
  const DescentOptions options = options_of(Optimizer::momentum, 0.01, 100);
  using Failure = Quadratic::Failure;
  EXPECT_EQ(step_of_divergence(Quadratic(2, Failure::value, 17), options, "loss is not finite"), 17);
  EXPECT_EQ(step_of_divergence(Quadratic(2, Failure::gradient, 3), options, "gradient is not finite"), 3);
  EXPECT_EQ(step_of_divergence(Quadratic(2, Failure::refusal, 9), options, "something overflows"), 9);
  // At the start it is the caller's parameters that are refused.
  try {
    descend(Quadratic(2, Failure::refusal, 0), start(2), options);
    FAIL();
  } catch (const InputError& error) {
    EXPECT_STREQ(error.what(), "Quadratic: something overflows");
  }

  // θ - t grows by |1 - ηh| = 2 per step, and its square by 4: after log_4(1e6) = 9.97 more steps it is
  // beyond 1e6 times that of step 15, the largest of the first 16.
  class Bowl final : public StochasticRisk {
   public:
    Eigen::Index size() const override { return 1; }
    RiskPoint batch(const ConstVectorRef& x, std::int64_t) const override { return {x[0] * x[0] / 2, 0, x}; }
  };
  DescentOptions steep = options_of(Optimizer::plain, 3, 100);
  EXPECT_EQ(step_of_divergence(Bowl(), steep, "times the"), 25);
  steep.divergence_factor = 1e3;  // log_4(1e3) = 4.98
  EXPECT_EQ(step_of_divergence(Bowl(), steep, "times the"), 20);
  steep.divergence_factor = INFINITY;  // θ = 2^{k+1}, whose square is infinite from k = 511 on
  steep.steps = 10000;
  EXPECT_EQ(step_of_divergence(Bowl(), steep, "loss is not finite"), 511);
}

TEST(StochasticDescent, RefusesBadOptionsAndStates) {
  const DescentOptions good = options_of(Optimizer::adam, 0.01, 5);
  const auto refused = [&](auto change) {
    DescentOptions options = good;
    DescentState state = start(2);
    change(options, state);
    EXPECT_THROW(descend(Quadratic(2), state, options), InputError);
  };
  EXPECT_NO_THROW(descend(Quadratic(2), start(2), good));
  refused([](DescentOptions& o, DescentState&) { o.step_size = {}; });
  refused([](DescentOptions& o, DescentState&) { o.step_size = [](std::int64_t) { return -1.0; }; });
  refused([](DescentOptions& o, DescentState&) { o.step_size = [](std::int64_t) { return std::nan(""); }; });
  refused([](DescentOptions& o, DescentState&) { o.steps = -1; });
  refused([](DescentOptions& o, DescentState&) { o.momentum = 1; });
  refused([](DescentOptions& o, DescentState&) { o.squares = -0.1; });
  refused([](DescentOptions& o, DescentState&) { o.epsilon = 0; });
  refused([](DescentOptions& o, DescentState&) { o.record_every = -1; });
  refused([](DescentOptions& o, DescentState&) { o.checkpoint_every = 3; });
  refused([](DescentOptions& o, DescentState&) { o.divergence_factor = 0.5; });
  refused([](DescentOptions&, DescentState& s) { s.parameters = Vector::Zero(3); });
  refused([](DescentOptions&, DescentState& s) { s.parameters[0] = std::nan(""); });
  // Plain descent cannot continue with another optimiser.
  const DescentState plain = descend(Quadratic(2), start(2), options_of(Optimizer::plain, 0.01, 3));
  EXPECT_THROW(descend(Quadratic(2), plain, good), InputError);
}

TEST(StochasticDescent, ReportsProgress) {
  DescentOptions options = options_of(Optimizer::plain, 0.01, 5000);
  double last = 0;
  int calls = 0;
  options.progress = [&](double share) {
    EXPECT_GE(share, last);
    EXPECT_LE(share, 1);
    last = share;
    ++calls;
  };
  descend(Quadratic(2), start(2), options);
  EXPECT_EQ(last, 1);
  EXPECT_GT(calls, 50);
  EXPECT_LT(calls, 300);
}

}  // namespace
}  // namespace largo::stochastic_descent_test
