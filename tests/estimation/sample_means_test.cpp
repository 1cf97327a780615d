#include "largo/estimation/sample_means.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <functional>
#include <vector>

#include "estimation/central_moments.hpp"
#include "largo/random/streams.hpp"
#include "largo/runtime/check.hpp"

namespace largo::sample_means_test {
namespace {

// A value and a control from two uniforms.
struct Draw {
  double value = 0;
  double control = 0;
};
using Rule = std::function<Draw(double, double)>;

class RuleSampler final : public Sampler {
 public:
  explicit RuleSampler(const Rule& rule) : rule_(rule) {}
  void sample(std::uint64_t index, std::span<double> values, std::span<double> controls) override {
    double uniforms[2];
    Stream(5, index).uniforms(0, uniforms);
    const Draw draw = rule_(uniforms[0], uniforms[1]);
    values[0] = draw.value;
    controls[0] = draw.control;
  }

 private:
  Rule rule_;
};

class RuleExperiment final : public Experiment {
 public:
  explicit RuleExperiment(Rule rule) : rule_(std::move(rule)) {}
  std::size_t quantities() const override { return 1; }
  std::unique_ptr<Sampler> sampler() const override { return std::make_unique<RuleSampler>(rule_); }

 private:
  Rule rule_;
};

double share_covered(const Rule& rule, double exact, std::int64_t samples, int runs) {
  const RuleExperiment experiment(rule);
  int covered = 0;
  for (int run = 0; run < runs; ++run) {
    SamplingPlan plan;
    plan.samples = samples;
    plan.first = static_cast<std::uint64_t>(run) * static_cast<std::uint64_t>(samples);
    const SampledMean mean = sample_means(experiment, plan, {.threads = 1}).front();
    covered += mean.low <= exact && exact <= mean.high ? 1 : 0;
  }
  return static_cast<double>(covered) / runs;
}

TEST(CentralMoments, AnyGroupingAgainstTwoPasses) {
  std::vector<double> x(1000);
  Stream(3, 1).uniforms(0, x);
  for (double& value : x) value = std::exp(3 * value);
  long double mean = 0;
  for (const double value : x) mean += value;
  mean /= 1000;
  long double m[5] = {};
  for (const double value : x) {
    for (int k = 2; k <= 4; ++k) m[k] += std::pow(value - mean, static_cast<long double>(k));
  }
  for (const std::size_t group : {1U, 7U, 500U, 1000U}) {
    estimation::CentralMoments all;
    for (std::size_t begin = 0; begin < x.size(); begin += group) {
      estimation::CentralMoments part;
      for (std::size_t i = begin; i < std::min(x.size(), begin + group); ++i) part.add(x[i]);
      all.merge(part);
    }
    EXPECT_EQ(all.n, 1000);
    EXPECT_NEAR(all.mean, static_cast<double>(mean), 1e-13 * static_cast<double>(mean));
    EXPECT_NEAR(all.m2 / static_cast<double>(m[2]), 1, 1e-12);
    EXPECT_NEAR(all.m3 / static_cast<double>(m[3]), 1, 1e-12);
    EXPECT_NEAR(all.m4 / static_cast<double>(m[4]), 1, 1e-12);
  }
}

// A share of 4000 runs has a standard error of 0.34 %; the bounds leave three of them around 95 %, and half a
// per cent more for the approximation.
TEST(SampleMeans, IntervalsKeepTheirLevel) {
  struct Case {
    const char* name;
    Rule rule;
    double mean;
  };
  const Case cases[] = {
      {"uniform", [](double u, double) { return Draw{u}; }, 0.5},
      {"exponential", [](double u, double) { return Draw{-std::log(u)}; }, 1.0},
      {"mirrored exponential", [](double u, double) { return Draw{std::log(u)}; }, -1.0},
      {"rare event", [](double u, double) { return Draw{u < 0.04 ? 1.0 : 0.0}; }, 0.04},
      {"log-normal",
       [](double u, double v) {
         return Draw{std::exp(std::sqrt(-2 * std::log(u)) * std::cos(2 * M_PI * v))};
       },
       std::exp(0.5)},
  };
  for (const Case& c : cases) {
    const double share = share_covered(c.rule, c.mean, 1000, 4000);
    EXPECT_GE(share, 0.935) << c.name;
    EXPECT_LE(share, 0.965) << c.name;
  }
}

TEST(SampleMeans, StudentsIntervalForTwoSamples) {
  const RuleExperiment experiment([](double u, double) { return Draw{u}; });
  SamplingPlan plan;
  plan.samples = 2;
  const SampledMean mean = sample_means(experiment, plan).front();
  EXPECT_EQ(mean.samples, 2);
  EXPECT_NEAR(mean.high - mean.value, 12.706 * mean.standard_error, 0.01 * mean.standard_error);
}

TEST(SampleMeans, ConstantHasNoError) {
  const RuleExperiment experiment([](double, double) { return Draw{3.0, 0.0}; });
  const SampledMean mean = sample_means(experiment, {}).front();
  EXPECT_EQ(mean.value, 3);
  EXPECT_EQ(mean.standard_error, 0);
  EXPECT_EQ(mean.low, 3);
  EXPECT_EQ(mean.high, 3);
}

TEST(SampleMeans, StopsAtCountsThatDouble) {
  const RuleExperiment experiment([](double u, double) { return Draw{1 + u}; });
  // With deviation √(1/12) and mean 1.5, a relative error of 0.002 needs 9,260 samples.
  SamplingPlan plan;
  plan.samples = 1000000;
  plan.relative_error = 0.002;
  const SampledMean mean = sample_means(experiment, plan).front();
  EXPECT_EQ(mean.samples, 16384);
  EXPECT_LE(mean.standard_error, 0.002 * mean.value);
  // The samples are the same as without the stopping rule.
  SamplingPlan fixed;
  fixed.samples = 16384;
  const SampledMean same = sample_means(experiment, fixed).front();
  EXPECT_NEAR(same.value, mean.value, 1e-12);
  // There are never more samples than planned.
  plan.samples = 3000;
  EXPECT_EQ(sample_means(experiment, plan).front().samples, 3000);
}

TEST(SampleMeans, ControlsTakeOffWhatTheyExplain) {
  // The control explains u = (u - ½) + ½ in full, and leaves v/10.
  const RuleExperiment experiment([](double u, double v) { return Draw{u + v / 10, u - 0.5}; });
  SamplingPlan plan;
  plan.samples = 20000;
  const SampledMean with = sample_means(experiment, plan).front();
  EXPECT_NEAR(with.value, 0.55, 4.5 * with.standard_error);
  EXPECT_NEAR(with.variance, 0.01 / 12, 0.001 / 12);
  EXPECT_NEAR(with.variance_reduction, 101, 25);
  plan.use_controls = false;
  const SampledMean without = sample_means(experiment, plan).front();
  EXPECT_NEAR(without.variance, 1.01 / 12, 0.1 / 12);
  // A control that explains nothing is not used.
  const RuleExperiment useless([](double u, double v) { return Draw{u, v - 0.5}; });
  EXPECT_EQ(sample_means(useless, {}).front().variance_reduction, 1);
}

TEST(SampleMeans, BadPlansAndSamples) {
  const RuleExperiment experiment([](double u, double) { return Draw{u}; });
  SamplingPlan plan;
  plan.samples = 1;
  EXPECT_THROW(sample_means(experiment, plan), InputError);
  plan = {};
  plan.relative_error = -1;
  EXPECT_THROW(sample_means(experiment, plan), InputError);
  plan.relative_error = std::nan("");
  EXPECT_THROW(sample_means(experiment, plan), InputError);
  plan = {};
  plan.first = std::uint64_t{1} << 62;
  EXPECT_THROW(sample_means(experiment, plan), InputError);
  const RuleExperiment broken([](double u, double) { return Draw{u < 0.01 ? std::nan("") : u}; });
  EXPECT_THROW(sample_means(broken, {}), InputError);
  EXPECT_THROW(sample_means(broken, {}, {.threads = 2}), InputError);
}

TEST(SampleMeans, StopsWhenAsked) {
  std::atomic<bool> stop = true;
  const RuleExperiment experiment([](double u, double) { return Draw{u}; });
  EXPECT_THROW(sample_means(experiment, {}, {.stop = &stop}), Stopped);
}

}  // namespace
}  // namespace largo::sample_means_test
