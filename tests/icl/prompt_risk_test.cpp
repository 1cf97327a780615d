// The sampled risk of any task: gradients against differences, values against a loop in the test, the draws
// that lengths have in common, and bits that depend on the inputs alone.
#include "largo/icl/prompt_risk.hpp"

#include <array>
#include <cmath>

#include <gtest/gtest.h>

#include "icl/prompt_tasks.hpp"
#include "largo/icl/regression_problem.hpp"
#include "largo/measures/empirical.hpp"
#include "support/thread_ranks.hpp"

namespace largo::prompt_risk_test {
namespace {

using test::kInfinity;
using test::random_matrix;

constexpr double kGradient = 1e-8;  // the project's bar; 8th-order differences with step 0.02 give 1e-12
constexpr double kSum = 1e-13;      // the same sums in another order

// A loss and a task that largo does not have: Huber's loss, and the mean of tokens in R² along a direction,
// with queries of another dimension.
class Huber final : public Loss {
 public:
  LossPoint at(double output, double target) const override {
    const double root = std::sqrt(1 + (output - target) * (output - target));
    return {root - 1, (output - target) / root};
  }
};

class MeanTask final : public PromptTask {
 public:
  Eigen::Index token_dimension() const override { return 2; }
  Eigen::Index query_dimension() const override { return 3; }
  PromptDraw draw(const Stream& stream) const override {
    Vector theta(2), query(3);
    stream.normals(0, {theta.data(), 2});
    stream.normals(2, {query.data(), 3});
    return {std::make_shared<GaussianMeasure>(theta, 0.5 * Matrix::Identity(2, 2)), query,
            Vector::Constant(1, theta[0] * query[0] + theta[1] * query[1])};
  }
};

struct Named {
  const char* name;
  PromptTaskPtr task;
  LossPtr loss;
};

std::vector<Named> tasks() {
  return {{"Gaussian regression", test::GaussianRegression().task(), squared_loss()},
          {"Rademacher regression", test::rademacher_regression(2), squared_loss()},
          {"classification", test::classification(), logistic_loss()},
          {"of the user", std::make_shared<MeanTask>(), std::make_shared<Huber>()}};
}

Vector some_parameters(const Risk& risk) { return 0.4 * random_matrix(20, risk.size(), 1); }

Vector differences(const Risk& risk, const Vector& at) {
  constexpr std::array kWeights = {4.0 / 5, -1.0 / 5, 4.0 / 105, -1.0 / 280};
  constexpr double kStep = 0.02;
  Vector slope = Vector::Zero(at.size());
  for (Eigen::Index i = 0; i < at.size(); ++i) {
    for (std::size_t k = 0; k < kWeights.size(); ++k) {
      const Vector offset = kStep * static_cast<double>(k + 1) * Vector::Unit(at.size(), i);
      slope[i] += kWeights[k] * (risk.at(at + offset).value - risk.at(at - offset).value) / kStep;
    }
  }
  return slope;
}

TEST(PromptRisk, GradientsAreThoseOfTheValue) {
  for (const Named& named : tasks()) {
    for (const AttentionKind kind : {AttentionKind::softmax, AttentionKind::linear}) {
      for (const double length : {1.0, 6.0, kInfinity}) {
        for (const PromptSampling sampling : {PromptSampling::where_needed, PromptSampling::always}) {
          SCOPED_TRACE(::testing::Message() << named.name << ", L = " << length);
          const PromptRisk risk({named.task, named.loss, length, kind, 0.7, 5, sampling}, 9);
          const Vector at = some_parameters(risk);
          const Vector gradient = risk.at(at).gradient;
          EXPECT_GT(gradient.norm(), 1e-3);
          EXPECT_LE((gradient - differences(risk, at)).norm(), kGradient * gradient.norm());
        }
      }
    }
  }
}

// The reference is the definition of softmax attention, over the tokens that draw_prompt gives.
TEST(PromptRisk, IsTheAverageLossOfSoftmaxAttention) {
  constexpr std::int64_t kDraws = 21;  // the last block is not full
  const PromptSetting setting{test::GaussianRegression().task(),
                              squared_loss(),
                              5,
                              AttentionKind::softmax,
                              0.7,
                              11,
                              PromptSampling::always};
  const PromptRisk risk(setting, kDraws);
  const Vector at = some_parameters(risk);
  const RegressionParameters head = to_parameters(at, 3);
  Eigen::ArrayXd losses(kDraws);
  for (std::int64_t i = 0; i < kDraws; ++i) {
    const PromptDraw draw = draw_prompt(setting, i);
    const auto prompt = std::dynamic_pointer_cast<const EmpiricalMeasure>(draw.tokens);
    ASSERT_TRUE(prompt);
    ASSERT_EQ(prompt->length(), 5);
    double partition = 0, output = 0;
    for (std::int64_t l = 0; l < 5; ++l) {
      Vector token(4);
      for (std::int64_t j = 0; j < 4; ++j) token[j] = prompt->tokens()(l, j);
      const double weight = std::exp(0.7 * token.dot(head.U * draw.query));
      partition += weight;
      output += weight * token.dot(head.v);
    }
    losses[i] = std::pow(output / partition - draw.target[0], 2) / 2;
  }
  const RiskPoint point = risk.at(at);
  EXPECT_NEAR(point.value, losses.mean(), kSum * losses.mean());
  const double n = static_cast<double>(kDraws);
  const double error = std::sqrt((losses - losses.mean()).square().sum() / (n - 1) / n);
  EXPECT_NEAR(point.error, error, kSum * error);
}

TEST(PromptRisk, LengthsHaveTheirDrawsInCommon) {
  for (const Named& named : tasks()) {
    const auto drawn = [&](double length, std::int64_t i) {
      return draw_prompt({named.task, named.loss, length, AttentionKind::softmax, 1, 3}, i);
    };
    const PromptDraw law = drawn(kInfinity, 4), longer = drawn(40, 4), shorter = drawn(7, 4);
    EXPECT_EQ(law.query, longer.query);
    EXPECT_EQ(law.query, shorter.query);
    EXPECT_EQ(law.target, longer.target);
    const PromptDraw next = drawn(kInfinity, 5);
    EXPECT_TRUE(law.query != next.query || law.target != next.target);
    const auto& many = dynamic_cast<const EmpiricalMeasure&>(*longer.tokens).tokens();
    const auto& few = dynamic_cast<const EmpiricalMeasure&>(*shorter.tokens).tokens();
    for (std::int64_t l = 0; l < 7; ++l) {
      for (std::int64_t j = 0; j < few.columns; ++j) EXPECT_EQ(few(l, j), many(l, j));
    }
  }
}

void expect_same(const RiskPoint& one, const RiskPoint& other) {
  EXPECT_EQ(one.value, other.value);
  EXPECT_EQ(one.error, other.error);
  EXPECT_EQ(one.gradient, other.gradient);
}

TEST(PromptRisk, SameBitsForEveryExecutionHeldOrNot) {
  for (const double length : {30.0, kInfinity}) {
    const PromptSetting setting{
        test::GaussianRegression().task(), squared_loss(), length, AttentionKind::softmax, 1, 2};
    const PromptRisk reference(setting, 83, {1});
    ASSERT_TRUE(reference.holds_prompts());
    const Vector at = some_parameters(reference);
    const RiskPoint expected = reference.at(at);
    const RiskPoint batch = PromptBatches(setting, 83, {1}).batch(at, 2);
    for (const int threads : {1, 2, 3, 7}) {
      for (const std::int64_t chunk : {0, 1, 5}) {
        expect_same(PromptRisk(setting, 83, {threads, chunk}).at(at), expected);
        const PromptRisk again(setting, 83, {threads, chunk}, 0);
        EXPECT_FALSE(again.holds_prompts());
        expect_same(again.at(at), expected);
        expect_same(PromptBatches(setting, 83, {threads, chunk}).batch(at, 2), batch);
      }
    }
    for (const int size : {2, 3}) {
      for (const std::exception_ptr& thrown : test::run_on(size, [&](const Ranks& ranks) {
             expect_same(PromptRisk(setting, 83, {1, 0, &ranks}).at(at), expected);
           })) {
        EXPECT_EQ(thrown, nullptr);
      }
    }
  }
}

TEST(PromptRisk, BatchesAreFreshDraws) {
  const PromptSetting setting{test::classification(), logistic_loss(), 12};
  const PromptRisk whole(setting, 24);
  const PromptBatches batches(setting, 8);
  ASSERT_EQ(batches.size(), whole.size());
  const Vector at = some_parameters(whole);
  double value = 0;
  Vector gradient = Vector::Zero(at.size());
  for (std::int64_t step = 0; step < 3; ++step) {
    const RiskPoint batch = batches.batch(at, step);
    value += batch.value / 3;
    gradient += batch.gradient / 3;
    EXPECT_NE(batch.value, batches.batch(at, step + 1).value);
  }
  EXPECT_NEAR(value, whole.at(at).value, kSum);
  EXPECT_LE((gradient - whole.at(at).gradient).norm(), kSum);
  PromptSetting other = setting;
  other.seed = 2;
  EXPECT_NE(PromptRisk(other, 24).at(at).value, whole.at(at).value);
  EXPECT_EQ(PromptBatches(setting, 1).batch(at, 0).error, kInfinity);
}

}  // namespace
}  // namespace largo::prompt_risk_test
