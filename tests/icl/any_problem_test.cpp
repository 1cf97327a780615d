// Problems other than Gaussian regression: fused batches against exact averages, training through the general
// problem against the exact engine, L(ε) with its interval, random lengths, several outputs.
//
// Statistical comparisons allow z up to 4.5 over all entries of a gradient together (some hundred
// comparisons: a false alarm of 1e-3 for another seed), with fixed seeds.
#include <atomic>
#include <cmath>
#include <filesystem>

#include <gtest/gtest.h>

#include "icl/prompt_tasks.hpp"
#include "largo/icl/regression_maps.hpp"
#include "largo/icl/regression_risk.hpp"
#include "largo/icl/ridge_floor.hpp"
#include "largo/icl/threshold.hpp"
#include "largo/icl/training/make_training_plan.hpp"
#include "largo/icl/training/task_threshold.hpp"
#include "largo/measures/affine.hpp"
#include "largo/measures/elliptical.hpp"
#include "largo/measures/mixture.hpp"
#include "largo/measures/named_law.hpp"
#include "prompts/prompt_layout.hpp"
#include "support/every_simd_level.hpp"

namespace largo::any_problem_test {
namespace {

using test::kInfinity;
using test::random_matrix;

constexpr double kMaxZ = 4.5;

MeasurePtr law(const char* name, std::ptrdiff_t d) { return named_law(name, d); }

struct NamedTask {
  const char* name;
  PromptTaskPtr task;
};

std::vector<NamedTask> regressions() {
  const auto make = [](RegressionLaws laws) { return std::make_shared<LawRegression>(std::move(laws)); };
  const MeasurePtr contaminated = std::make_shared<MixtureMeasure>(
      Vector{{0.9, 0.1}}, std::vector<MeasurePtr>{law("gaussian:cov=0.01*identity", 1),
                                                  law("gaussian:cov=4*identity,mean=0.3", 1)});
  return {
      {"sphere", make({law("sphere:radius=1.5", 3)})},
      {"sphere, noise", make({law("sphere:radius=1.5", 3), nullptr, nullptr, law("gaussian", 1)})},
      {"rademacher, noise", make({law("rademacher", 3), nullptr, nullptr, law("uniform", 1)})},
      {"Gaussian with a mean", make({law("gaussian:cov=toeplitz:0.5,mean=0.3,0,-0.2", 3), law("gaussian", 3),
                                     law("laplace", 3), law("gaussian:cov=0.2*identity", 1)})},
      {"contaminated", make({law("gaussian", 2), nullptr, law("rademacher", 2), contaminated})},
      {"uncertain noise", make({law("elliptical:low=0.5,high=2", 3), nullptr, nullptr, law("gaussian", 1),
                                law("uniform:half-width=0.7", 1)})},
      {"two outputs", make({law("uniform", 2), nullptr, law("gaussian:cov=toeplitz:0.4", 4),
                            law("gaussian:cov=0.1*identity", 2), nullptr, 2})}};
}

Vector some_parameters(Eigen::Index size) { return 0.4 * random_matrix(77, size, 1); }

// Batches are fresh prompts through float32 kernels, PromptRisk draws in float64 with streams of its own.
TEST(FusedBatches, HaveTheMeanOfTheRisk) {
  constexpr std::int64_t kBatch = 500, kBatches = 40;
  for (const NamedTask& named : regressions()) {
    for (const LossPtr& loss : {squared_loss(), huber_loss(0.7)}) {
      SCOPED_TRACE(named.name);
      PromptSetting setting{named.task, loss, 9, AttentionKind::softmax, 0.8, 4};
      const PromptBatches batches(setting, kBatch);
      ASSERT_TRUE(batches.is_fused());
      const Vector at = some_parameters(batches.size());
      setting.seed = 5;
      setting.sampling = PromptSampling::always;
      // Ten parts of the risk give standard errors of its gradient.
      Matrix ours(at.size() + 1, kBatches), theirs(at.size() + 1, kBatches);
      for (std::int64_t k = 0; k < kBatches; ++k) {
        const RiskPoint batch = batches.batch(at, k);
        ours.col(k) << batch.value, batch.gradient;
        setting.seed = 1000 + static_cast<std::uint64_t>(k);
        const RiskPoint point = PromptRisk(setting, kBatch).at(at);
        theirs.col(k) << point.value, point.gradient;
      }
      for (Eigen::Index i = 0; i <= at.size(); ++i) {
        const double difference = ours.row(i).mean() - theirs.row(i).mean();
        double square = 0;
        for (const Matrix* sample : {&ours, &theirs}) {
          square +=
              (sample->row(i).array() - sample->row(i).mean()).square().sum() / (kBatches - 1) / kBatches;
        }
        EXPECT_LE(std::abs(difference), kMaxZ * std::sqrt(square) + 1e-12) << "entry " << i;
      }
    }
  }
}

TEST(FusedBatches, HaveTheGradientOfTheirValue) {
  constexpr double kStep = 1e-3, kFloat = 2e-4;  // tokens and sums over a chunk are in float32
  for (const NamedTask& named : regressions()) {
    SCOPED_TRACE(named.name);
    const PromptBatches batches({named.task, huber_loss(1), 12, AttentionKind::softmax, 1, 2}, 64);
    const Vector at = some_parameters(batches.size());
    const Vector gradient = batches.batch(at, 3).gradient;
    const Vector along = random_matrix(5, at.size(), 1).normalized();
    const double slope =
        (batches.batch(at + kStep * along, 3).value - batches.batch(at - kStep * along, 3).value) /
        (2 * kStep);
    EXPECT_NEAR(slope, gradient.dot(along), kFloat * (1 + gradient.norm()));
  }
}

TEST(FusedBatches, SameBitsForEveryExecution) {
  for (const NamedTask& named : regressions()) {
    const PromptSetting setting{named.task, huber_loss(1), LengthLaw::uniform(1, 300)};
    const PromptBatches one(setting, 37, {.threads = 1}), many(setting, 37, {.threads = 3, .chunk = 2});
    const Vector at = some_parameters(one.size());
    EXPECT_EQ(one.batch(at, 7).value, many.batch(at, 7).value);
    EXPECT_EQ(one.batch(at, 7).gradient, many.batch(at, 7).gradient);
    EXPECT_NE(one.batch(at, 7).value, one.batch(at, 8).value);
  }
}

// Draws are addressed by their numbers: neither the batch nor its place in a block matters, nor where the
// streams of tasks end.
TEST(FusedBatches, DrawsDependOnTheirNumbersAlone) {
  constexpr auto kTasksInStream = static_cast<std::int64_t>(prompts::kTasksInStream);
  for (const NamedTask& named : regressions()) {
    SCOPED_TRACE(named.name);
    const PromptSetting setting{named.task, huber_loss(1), 40};
    const PromptBatches twelve(setting, 12), four(setting, 4);
    const Vector at = some_parameters(four.size());
    for (const std::int64_t step : {std::int64_t{5}, kTasksInStream / 12}) {
      const std::int64_t first = step * 3;  // of the smaller batches
      double value = 0;
      Vector gradient = Vector::Zero(at.size());
      for (std::int64_t k = first; k < first + 3; ++k) {
        const RiskPoint part = four.batch(at, k);
        value += part.value / 3;
        gradient += part.gradient / 3;
      }
      const RiskPoint whole = twelve.batch(at, step);
      EXPECT_NEAR(whole.value, value, 1e-13 * value);  // other sums
      EXPECT_LE((whole.gradient - gradient).norm(), 1e-13 * (1 + gradient.norm()));
    }
  }
}

// Laws made from more numbers than they have coordinates, or from none.
TEST(FusedBatches, TakeMapsOfEveryShape) {
  const Matrix wide = random_matrix(3, 1, 12);
  const auto scale = std::make_shared<AffineMeasure>(AffineMeasure::linear_image(wide, law("gaussian", 12)));
  const auto covariates =
      std::make_shared<AffineMeasure>(AffineMeasure::linear_image(random_matrix(4, 2, 9), law("uniform", 9)));
  for (const MeasurePtr& noise : {law("gaussian", 1), law("gaussian:cov=zeros,mean=0.5", 1)}) {
    const auto task = std::make_shared<LawRegression>(
        RegressionLaws{covariates, law("gaussian", 2), nullptr, noise, scale});
    const PromptBatches batches({task, squared_loss(), 30}, 64);
    const Vector at = some_parameters(batches.size());
    const RiskPoint point = batches.batch(at, 1);
    PromptSetting sampled{task, squared_loss(), 30};
    sampled.sampling = PromptSampling::always;
    const RiskPoint known = PromptRisk(sampled, 4000).at(at);
    EXPECT_LE(std::abs(point.value - known.value), kMaxZ * std::hypot(point.error, known.error));
  }
}

class FusedLevels : public test::EverySimdLevel {};

TEST_P(FusedLevels, SameBits) {
  for (const NamedTask& named : regressions()) {
    SCOPED_TRACE(named.name);
    const PromptBatches batches({named.task, squared_loss(), 70}, 20);
    const Vector at = some_parameters(batches.size());
    const RiskPoint here = batches.batch(at, 2);
    force_simd_level(simd_levels().front());
    const RiskPoint best = batches.batch(at, 2);
    EXPECT_EQ(here.value, best.value);
    EXPECT_EQ(here.gradient, best.gradient);
    force_simd_level(GetParam());
  }
}

INSTANTIATE_TEST_SUITE_P(EveryLevel, FusedLevels, ::testing::ValuesIn(simd_levels()), test::level_name);

// Noise that tokens share, or that is drawn twice, would not average out over a prompt. With scores of zero
// and values y the output is the mean label: with w = 0 its mean square is that of the noise over L.
TEST(FusedBatches, NoiseAveragesOut) {
  constexpr std::int64_t kPrompts = 20000, kTokens = 200;
  for (const char* covariates : {"sphere", "gaussian", "rademacher", "ball"}) {
    SCOPED_TRACE(covariates);
    const auto task = std::make_shared<LawRegression>(
        RegressionLaws{law(covariates, 3), nullptr, law("gaussian:cov=0*identity", 3), law("gaussian", 1)});
    const PromptBatches batches({task, squared_loss(), kTokens}, kPrompts);
    Vector at = Vector::Zero(batches.size());
    at[at.size() - 1] = 1;
    const RiskPoint point = batches.batch(at, 0);
    EXPECT_LE(std::abs(point.value - 0.5 / kTokens), kMaxZ * point.error);
    EXPECT_LE(point.error, 0.02 * point.value);
  }
}

// The average over prompts is exact: what is left is the noise of tasks and queries.
TEST(ExactAverages, AreThoseOfTheExactEngine) {
  constexpr std::int64_t kDraws = 40000;
  const test::GaussianRegression regression;
  const RegressionProblem problem{regression.covariance, regression.query_covariance,
                                  regression.prior_root * regression.prior_root.transpose(),
                                  regression.noise_variance, 0.7};
  for (const AttentionKind kind : {AttentionKind::softmax, AttentionKind::linear}) {
    for (const LengthLaw& L : {LengthLaw(3), LengthLaw(1e6), LengthLaw::uniform(1, 40), LengthLaw(2.5)}) {
      SCOPED_TRACE(L.name());
      const PromptRisk risk({regression.task(), squared_loss(), L, kind, 0.7, 3}, kDraws);
      EXPECT_EQ(risk.average(), PromptAverage::exact);
      const Vector at = some_parameters(risk.size());
      const RiskPoint point = risk.at(at);
      const double exact = regression_risk(problem, kind, L, to_parameters(at, 3)).value;
      EXPECT_LE(point.error, 0.05 * exact);
      EXPECT_LE(std::abs(point.value - exact), 4 * point.error);
    }
  }
}

// Without noise in the tokens' law the same task with several outputs is several tasks with one.
TEST(ExactAverages, SeveralOutputsAddUp) {
  const MeasurePtr covariates = law("gaussian:cov=toeplitz:0.5", 2);
  const auto task = std::make_shared<LawRegression>(RegressionLaws{
      covariates, nullptr, law("rademacher", 2), law("gaussian:cov=0.3*identity", 2), nullptr, 2});
  PromptSetting exact{task, squared_loss(), 7, AttentionKind::softmax, 1, 3}, sampled = exact;
  sampled.sampling = PromptSampling::always;
  const PromptRisk averaged(exact, 20000), drawn(sampled, 20000);
  const Vector at = some_parameters(averaged.size());
  const RiskPoint one = averaged.at(at), other = drawn.at(at);
  EXPECT_EQ(averaged.average(), PromptAverage::exact);
  EXPECT_LE(std::abs(one.value - other.value), 4 * std::hypot(one.error, other.error));
  EXPECT_LT(one.error, other.error);
}

TEST(SampledLengths, AreThoseOfTheLaw) {
  const PromptTaskPtr task = test::rademacher_regression(2);
  const LengthLaw lengths({2, 30}, {0.25, 0.75});
  const Vector at = some_parameters(12);
  const auto risk = [&](const LengthLaw& L, std::uint64_t seed) {
    return PromptRisk({task, squared_loss(), L, AttentionKind::softmax, 1, seed}, 20000).at(at);
  };
  const RiskPoint mixed = risk(lengths, 1), few = risk(2, 2), many = risk(30, 3);
  const double expected = 0.25 * few.value + 0.75 * many.value;
  EXPECT_LE(std::abs(mixed.value - expected),
            4 * std::sqrt(std::pow(mixed.error, 2) + std::pow(0.25 * few.error, 2) +
                          std::pow(0.75 * many.error, 2)));
}

InContextProblem gaussian_problem(Eigen::Index d) {
  return {std::make_shared<LawRegression>(RegressionLaws{law("gaussian", d)}), squared_loss(), 1};
}

// The paper's problem, described as any other, is trained by the exact engine: the same numbers.
TEST(AnyTraining, OfGaussianRegressionIsExact) {
  TrainingRequest request;
  request.lengths = {20, kInfinity};
  request.problem = paper_problem(Matrix::Identity(3, 3));
  const TrainingPlan plan = make_training_plan(request).plan;
  request.problem = {};
  request.other = gaussian_problem(3);
  const TrainingPlan other = make_training_plan(request).plan;
  EXPECT_FALSE(other.other.has_value());
  const auto runs = train(plan), same = train(other);
  ASSERT_EQ(runs.size(), same.size());
  for (std::size_t i = 0; i < runs.size(); ++i) {
    EXPECT_EQ(runs[i].final_risk.value, same[i].final_risk.value);
    EXPECT_EQ(runs[i].last.U, same[i].last.U);
  }
}

TEST(AnyTraining, FlowsEndWhereTheExactOnesDo) {
  TrainingRequest request;
  request.lengths = {20, LengthLaw::uniform(5, 40), kInfinity};
  request.problem = paper_problem(Matrix::Identity(2, 2));
  const auto exact = train(make_training_plan(request).plan);
  TrainingPlan plan = make_training_plan(request).plan;
  request.other = gaussian_problem(2);
  request.sampling = PromptSampling::always;
  request.prompts = 4000;
  plan = make_training_plan(request).plan;
  ASSERT_TRUE(plan.other.has_value());
  plan.sampling = PromptSampling::where_needed;
  const auto runs = train(plan);
  for (std::size_t i = 0; i < runs.size(); ++i) {
    SCOPED_TRACE(runs[i].L.name());
    EXPECT_TRUE(runs[i].stationary);
    EXPECT_EQ(runs[i].average, i == 2 ? PromptAverage::limit : PromptAverage::exact);
    EXPECT_LE(std::abs(runs[i].final_risk.value - exact[i].final_risk.value),
              4 * runs[i].final_risk.error + 1e-12);
    // The last record is a risk over the draws of the flow.
    EXPECT_LE(std::abs(runs[i].path.points().back().risk - runs[i].final_risk.value), *runs[i].record_error);
  }
}

TEST(AnyTraining, StepsFollowTheFlow) {
  TrainingRequest request;
  request.other = InContextProblem{
      std::make_shared<LawRegression>(RegressionLaws{law("sphere:radius=1.4", 2)}), huber_loss(0.8), 1};
  request.methods = {TrainingMethod::flow, TrainingMethod::descent};
  request.lengths = {15};
  request.prompts = 3000;
  request.steps = 3000;
  request.step_size = 0.05;
  request.batch = 64;
  request.evaluate = {5, kInfinity};
  const auto runs = train(make_training_plan(request).plan);
  ASSERT_EQ(runs.size(), 2U);
  EXPECT_EQ(runs[0].average, PromptAverage::sampled);
  ASSERT_TRUE(runs[1].to_flow && runs[1].noise && runs[0].to_limit_flow && runs[0].gradient_gap);
  EXPECT_LE(std::abs(runs[0].final_risk.value - runs[1].final_risk.value),
            4 * std::hypot(runs[0].final_risk.error, runs[1].final_risk.error) + 0.01);
  ASSERT_EQ(runs[0].evaluated.size(), 2U);
  EXPECT_GT(runs[0].evaluated[0].value, runs[0].final_risk.value);
  EXPECT_LT(runs[0].evaluated[1].value, runs[0].final_risk.value);
}

TEST(AnyTraining, ResumesWhereItWasStopped) {
  const std::filesystem::path folder = std::filesystem::path(testing::TempDir()) / "largo_any_training";
  std::filesystem::remove_all(folder);
  TrainingRequest request;
  request.other = InContextProblem{test::rademacher_regression(2), huber_loss(1), 1};
  request.methods = {TrainingMethod::descent};
  request.lengths = {LengthLaw::uniform(2, 9)};
  request.steps = 400;
  const auto whole = train(make_training_plan(request).plan);
  request.checkpoints = folder;
  TrainingPlan plan = make_training_plan(request).plan;
  std::atomic<bool> stop = false;
  plan.progress = [&](double share) { stop = share > 0.4; };
  EXPECT_THROW(train(plan, {.stop = &stop}), Stopped);
  plan.progress = {};
  const auto resumed = train(plan);
  EXPECT_EQ(whole[0].last.U, resumed[0].last.U);
  EXPECT_EQ(whole[0].final_risk.value, resumed[0].final_risk.value);
  // Another loss is another run, and does not take its state.
  for (const double delta : {0.5, 20.0}) {  // the second differs only far from the targets
    plan.other->loss = huber_loss(delta);
    EXPECT_NE(train(plan)[0].last.U, resumed[0].last.U) << delta;
  }
  std::filesystem::remove_all(folder);
}

// Noise that differs once in two hundred tokens, and far out, makes another run.
TEST(AnyTraining, RareNoiseIsAnotherRun) {
  const std::filesystem::path folder = std::filesystem::path(testing::TempDir()) / "largo_rare_noise";
  std::filesystem::remove_all(folder);
  std::vector<Matrix> ends;
  for (const char* rare : {"gaussian:cov=9*identity", "gaussian:cov=10000*identity"}) {
    const auto noise = std::make_shared<MixtureMeasure>(
        Vector{{0.995, 0.005}}, std::vector<MeasurePtr>{law("gaussian:cov=0.01*identity", 1), law(rare, 1)});
    TrainingRequest request;
    request.other = InContextProblem{std::make_shared<LawRegression>(RegressionLaws{
                                         law("gaussian", 2), nullptr, law("gaussian", 2), noise}),
                                     squared_loss(), 1};
    request.methods = {TrainingMethod::descent};
    request.lengths = {20};
    request.steps = 100;
    request.prompts = 100;
    request.seed = 2;
    request.checkpoints = folder;
    ends.push_back(train(make_training_plan(request).plan)[0].last.U);
  }
  EXPECT_NE(ends[0], ends[1]);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder), std::filesystem::directory_iterator()),
            2);
  std::filesystem::remove_all(folder);
}

TEST(AnyTraining, RefusesWhatCannotBe) {
  TrainingRequest request;
  request.other = InContextProblem{test::rademacher_regression(2), absolute_loss(), 1};
  request.lengths = {5};
  EXPECT_THROW(make_training_plan(request), InputError);  // a flow on a loss whose slope jumps
  request.methods = {TrainingMethod::descent};
  EXPECT_NO_THROW(make_training_plan(request));
  request.kernel = PromptKernel::full;
  EXPECT_THROW(make_training_plan(request), InputError);
  request.kernel.reset();
  request.other = InContextProblem{regressions().back().task, squared_loss(), 1};
  request.parameters = Parametrisation::invariant;
  EXPECT_THROW(make_training_plan(request), InputError);  // several outputs
  request.parameters.reset();
  EXPECT_EQ(make_training_plan(request).plan.parameters, Parametrisation::merged);
  request.head = RegressionParameters{Matrix::Zero(3, 3), Vector::Zero(3)};
  EXPECT_THROW(make_training_plan(request), InputError);  // a start of another size
  request.head = RegressionParameters{Matrix::Zero(2, 8), Vector::Zero(8)};
  EXPECT_THROW(make_training_plan(request), InputError);  // as many numbers, in another shape
  request.head.reset();
  request.evaluate = {1.5};
  EXPECT_THROW(make_training_plan(request), InputError);  // before anything is trained
  request.evaluate.clear();
  request.published = true;
  request.parameters = Parametrisation::merged;
  EXPECT_EQ(make_training_plan(request).plan.batches.loss_factor, 0.5);  // a loss is what it is
  TrainingRequest same;
  same.other = gaussian_problem(2);
  same.prompts = 100;
  EXPECT_THROW(make_training_plan(same), InputError);  // exact by another name: nothing is drawn
  TrainingRequest exact;
  exact.problem = paper_problem(Matrix::Identity(2, 2));
  exact.prompts = 100;
  EXPECT_THROW(make_training_plan(exact), InputError);  // nothing is drawn
}

// The truth is that of the exact engine.
TEST(TaskThreshold, IntervalHoldsTheTruth) {
  constexpr double kEpsilon = 0.1;
  const RegressionProblem problem = paper_problem(Matrix::Identity(2, 2));
  const double truth = threshold(problem, kEpsilon, named_start(problem, {})).L;
  TrainingRequest request;
  request.other = gaussian_problem(2);
  request.sampling = PromptSampling::always;
  request.prompts = 2000;
  TrainingPlan plan = make_training_plan(request).plan;
  plan.sampling = PromptSampling::where_needed;
  const TaskThreshold found = task_threshold(plan, AttentionKind::softmax, kEpsilon);
  EXPECT_EQ(found.average, PromptAverage::exact);
  EXPECT_LT(found.lower, truth);
  EXPECT_GE(found.upper, truth);
  EXPECT_NEAR(found.L, truth, 0.15 * truth);
  EXPECT_LT(found.upper, 2 * truth);
  EXPECT_THROW(task_threshold(plan, AttentionKind::softmax, 0), InputError);
}

// Ridge with the right noise is Bayes' predictor for Gaussian tasks: no head does better.
TEST(Learner, IsBelowTheHead) {
  const test::GaussianRegression regression;
  for (const double L : {2.0, 20.0}) {
    const PromptSetting setting{regression.task(), squared_loss(), L};
    const Estimate ridge = *learner_risk(setting, 20000);
    const RegressionProblem problem{regression.covariance, regression.query_covariance,
                                    regression.prior_root * regression.prior_root.transpose(),
                                    regression.noise_variance, 1};
    const RidgeFloor floor = ridge_floor(problem, L, {.samples = 20000}, 9);
    EXPECT_LE(std::abs(ridge.value - floor.value), 4 * std::hypot(ridge.error, floor.standard_error));
  }
  const PromptSetting infinite{regression.task(), squared_loss(), kInfinity};
  EXPECT_LE(learner_risk(infinite, 200)->value, 1e-20);
}

// The Bayes predictor of classification has the smallest logistic risk: a scaled output does worse.
TEST(Learner, OfClassificationIsCalibrated) {
  const PromptSetting setting{test::classification(), logistic_loss(), 15};
  const Estimate best = *learner_risk(setting, 20000);
  EXPECT_LT(best.value, std::log(2.0));
  class Scaled final : public Loss {
   public:
    explicit Scaled(double factor) : factor_(factor) {}
    LossPoint at(double output, double target) const override {
      return logistic_loss()->at(factor_ * output, target);
    }

   private:
    double factor_;
  };
  for (const double factor : {0.7, 1.4}) {
    PromptSetting scaled = setting;
    scaled.loss = std::make_shared<Scaled>(factor);
    EXPECT_GT(learner_risk(scaled, 20000)->value, best.value);  // the same draws
  }
}

}  // namespace
}  // namespace largo::any_problem_test
