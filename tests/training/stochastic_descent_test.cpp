#include "largo/training/stochastic_descent.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <filesystem>
#include <limits>
#include <string>

namespace largo {
namespace {

// ½ Σ h_i (θ_i - t_i)², t_i moved a little by each batch; from `fails_at` on something is wrong.
class Quadratic final : public StochasticRisk {
 public:
  enum class Failure : std::uint8_t { none, value, gradient, refusal, stop };
  explicit Quadratic(Eigen::Index size, Failure failure = Failure::none, std::int64_t fails_at = 0)
      : size_(size), failure_(failure), fails_at_(fails_at) {}

  Eigen::Index size() const override { return size_; }
  RiskPoint batch(const ConstVectorRef& parameters, std::int64_t step) const override {
    RiskPoint point{0, 0, Vector(size_)};
    for (Eigen::Index i = 0; i < size_; ++i) {
      const double difference = parameters[i] - target(i, step);
      point.gradient[i] = curvature(i) * difference;
      point.value += curvature(i) * difference * difference / 2;
    }
    if (step < fails_at_) return point;
    if (failure_ == Failure::value) point.value = std::nan("");
    if (failure_ == Failure::gradient) point.gradient[size_ - 1] = std::numeric_limits<double>::infinity();
    if (failure_ == Failure::refusal) fail("Quadratic", "something overflows");
    if (failure_ == Failure::stop) throw Stopped();
    return point;
  }
  static double curvature(Eigen::Index i) { return 1 + static_cast<double>(i); }
  static double target(Eigen::Index i, std::int64_t step) {
    return 1 + 0.1 * static_cast<double>(i) + 0.03 * static_cast<double>((step * 7 + i) % 5 - 2);
  }

 private:
  Eigen::Index size_;
  Failure failure_;
  std::int64_t fails_at_;
};

DescentState start(Eigen::Index size) {
  DescentState state;
  state.parameters = Vector::LinSpaced(size, -1, 2);
  return state;
}

DescentOptions options_of(Optimiser optimiser, double size, std::int64_t steps) {
  DescentOptions options;
  options.optimiser = optimiser;
  options.step_size = constant_steps(size);
  options.steps = steps;
  return options;
}

std::filesystem::path scratch(const std::string& name) {
  return std::filesystem::path(::testing::TempDir()) / ("largo-descent-" + name);
}

void expect_same(const DescentState& a, const DescentState& b) {
  EXPECT_EQ(a.step, b.step);
  EXPECT_EQ(a.time, b.time);
  EXPECT_EQ(a.parameters, b.parameters);
  EXPECT_EQ(a.momentum, b.momentum);
  EXPECT_EQ(a.squares, b.squares);
  EXPECT_EQ(a.loss_sum, b.loss_sum);
  ASSERT_EQ(a.records.size(), b.records.size());
  for (std::size_t i = 0; i < a.records.size(); ++i) {
    EXPECT_EQ(a.records[i].step, b.records[i].step);
    EXPECT_EQ(a.records[i].time, b.records[i].time);
    EXPECT_EQ(a.records[i].loss, b.records[i].loss);
    EXPECT_EQ(a.records[i].parameters, b.records[i].parameters);
  }
}

// The textbook's formulas, one number at a time, in extended precision: 50 steps of a stable recursion lose
// less than 1e-13.
TEST(StochasticDescent, FollowsTheFormulas) {
  constexpr Eigen::Index kSize = 3;
  constexpr int kSteps = 50;
  constexpr double kTolerance = 1e-13;
  for (const Optimiser optimiser : {Optimiser::plain, Optimiser::momentum, Optimiser::adam}) {
    DescentOptions options = options_of(optimiser, 1, kSteps);
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
        if (optimiser == Optimiser::plain) {
          theta -= eta * g;
        } else if (optimiser == Optimiser::momentum) {  // Polyak: θ' = θ - ηg + β(θ - θ_before), rescaled
          v = 0.8L * v - g;
          theta += eta * v;
        } else {
          first = 0.8L * first + 0.2L * g;
          second = 0.95L * second + 0.05L * g * g;
          const long double unbiased = first / (1 - std::pow(0.8L, k + 1));
          theta -= eta * unbiased / (std::sqrt(second / (1 - std::pow(0.95L, k + 1))) + 1e-3L);
        }
      }
      EXPECT_NEAR(got.parameters[i], static_cast<double>(theta), kTolerance) << static_cast<int>(optimiser);
    }
  }
}

TEST(StochasticDescent, RecordsMeansSinceTheLastRecord) {
  DescentOptions options = options_of(Optimiser::plain, 0.01, 10);
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

TEST(StochasticDescent, TakenUpAgainIsTheSameRun) {
  const std::filesystem::path path = scratch("resume");
  for (const Optimiser optimiser : {Optimiser::plain, Optimiser::momentum, Optimiser::adam}) {
    DescentOptions options = options_of(optimiser, 0.01, 100);
    options.record_every = 7;
    const DescentState whole = descend(Quadratic(5), start(5), options);

    options.checkpoint = path;
    options.checkpoint_every = 30;
    // Ended by an error at step 75: the checkpoint is that of step 60.
    EXPECT_THROW(descend(Quadratic(5, Quadratic::Failure::value, 75), start(5), options), Diverged);
    DescentState saved = load_descent(path);
    EXPECT_EQ(saved.step, 60);
    expect_same(descend(Quadratic(5), saved, options), whole);
    expect_same(load_descent(path), whole);  // saved at the end

    // Stopped within a batch: that of step 42, the same step.
    EXPECT_THROW(descend(Quadratic(5, Quadratic::Failure::stop, 42), start(5), options), Stopped);
    saved = load_descent(path);
    EXPECT_EQ(saved.step, 42);
    expect_same(descend(Quadratic(5), saved, options), whole);
  }
  std::filesystem::remove(path);
}

TEST(StochasticDescent, NoticesAStop) {
  std::atomic<bool> stop = true;
  DescentOptions options = options_of(Optimiser::plain, 0.01, 100);
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
  const DescentOptions options = options_of(Optimiser::momentum, 0.01, 100);
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

  // θ - t grows by |1 - ηh| = 2 a step, its square by 4: beyond 1e6 after log_4(1e6) = 9.97 steps.
  class Bowl final : public StochasticRisk {
   public:
    Eigen::Index size() const override { return 1; }
    RiskPoint batch(const ConstVectorRef& x, std::int64_t) const override { return {x[0] * x[0] / 2, 0, x}; }
  };
  DescentOptions steep = options_of(Optimiser::plain, 3, 100);
  EXPECT_EQ(step_of_divergence(Bowl(), steep, "times the"), 10);
  steep.divergence_factor = 1e3;  // log_4(1e3) = 4.98
  EXPECT_EQ(step_of_divergence(Bowl(), steep, "times the"), 5);
  steep.divergence_factor = INFINITY;  // θ = 2^{k+1}, whose square is infinite from k = 511 on
  steep.steps = 10000;
  EXPECT_EQ(step_of_divergence(Bowl(), steep, "loss is not finite"), 511);
}

TEST(StochasticDescent, RefusesBadOptionsAndStates) {
  const DescentOptions good = options_of(Optimiser::adam, 0.01, 5);
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
  // Plain descent goes on as it began.
  const DescentState plain = descend(Quadratic(2), start(2), options_of(Optimiser::plain, 0.01, 3));
  EXPECT_THROW(descend(Quadratic(2), plain, good), InputError);
}

TEST(StochasticDescent, RefusesWhatIsNotACheckpoint) {
  const std::filesystem::path path = scratch("bad");
  std::filesystem::remove(path);
  EXPECT_THROW(load_descent(path), InputError);
  DescentOptions options = options_of(Optimiser::adam, 0.01, 5);
  options.checkpoint = path;
  descend(Quadratic(3), start(3), options);
  EXPECT_NO_THROW(load_descent(path));
  const auto size = std::filesystem::file_size(path);
  for (const std::uintmax_t left : {size - 1, size / 2, std::uintmax_t{9}, std::uintmax_t{0}}) {
    std::filesystem::resize_file(path, left);
    EXPECT_THROW(load_descent(path), InputError) << left;
    descend(Quadratic(3), start(3), options);
  }
  const auto refused = [&](auto change) {
    DescentState state = load_descent(path);
    change(state);
    save_descent(path, state);
    try {
      load_descent(path);
      FAIL();
    } catch (const InputError& error) {
      EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos);
    }
    descend(Quadratic(3), start(3), options);
  };
  refused([](DescentState& state) { state.step = -1; });
  refused([](DescentState& state) { state.time = std::nan(""); });
  refused([](DescentState& state) { state.momentum = Vector::Zero(7); });
  refused([](DescentState& state) { state.parameters[1] = INFINITY; });
  std::filesystem::remove(path);
}

TEST(StochasticDescent, ReportsProgress) {
  DescentOptions options = options_of(Optimiser::plain, 0.01, 5000);
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
}  // namespace largo
