// A mistake of the caller gives one line, which names what is wrong.
#include <functional>
#include <string>

#include <gtest/gtest.h>

#include "icl/prompt_tasks.hpp"
#include "largo/runtime/check.hpp"

namespace largo::prompt_input_test {
namespace {

using test::kInfinity;

void expect_error(const std::string& word, const std::function<void()>& call) {
  SCOPED_TRACE(word);
  try {
    call();
    ADD_FAILURE() << "no error";
  } catch (const InputError& error) {
    const std::string message = error.what();
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
    EXPECT_NE(message.find(word), std::string::npos) << message;
  }
}

PromptSetting good() {
  return {test::rademacher_regression(2), squared_loss(), 4, AttentionKind::softmax, 1, 1};
}

// A task that draws what it is told to.
class Wrong final : public PromptTask {
 public:
  explicit Wrong(PromptDraw draw) : draw_(std::move(draw)) {}
  Eigen::Index token_dimension() const override { return 2; }
  Eigen::Index query_dimension() const override { return 2; }
  PromptDraw draw(const Stream&) const override { return draw_; }

 private:
  PromptDraw draw_;
};

class SizedTask final : public PromptTask {
 public:
  Eigen::Index token_dimension() const override { return 0; }
  Eigen::Index query_dimension() const override { return 2; }
  PromptDraw draw(const Stream&) const override { return {}; }
};

class NoSampler final : public Measure {
 public:
  NoSampler() : Measure(2) {}
  double log_partition(const ConstVectorRef& direction) const override { return direction.squaredNorm() / 2; }
};

TEST(PromptInput, Setting) {
  const auto with = [](const std::function<void(PromptSetting&)>& change) {
    return [change] {
      PromptSetting setting = good();
      change(setting);
      const PromptRisk risk(setting, 4);
    };
  };
  expect_error("task is null", with([](PromptSetting& s) { s.task = nullptr; }));
  expect_error("loss is null", with([](PromptSetting& s) { s.loss = nullptr; }));
  expect_error("L is 0", with([](PromptSetting& s) { s.length = 0; }));
  expect_error("length is 2.5", with([](PromptSetting& s) { s.length = 2.5; }));
  expect_error("L is nan", with([](PromptSetting& s) { s.length = NAN; }));
  expect_error("2^29", with([](PromptSetting& s) { s.length = 1e12; }));
  expect_error("score_scale", with([](PromptSetting& s) { s.score_scale = kInfinity; }));
  expect_error("token dimension", with([](PromptSetting& s) { s.task = std::make_shared<SizedTask>(); }));
  expect_error("prompts is 1", [] { PromptRisk(good(), 1); });
  expect_error("batch_size is 0", [] { PromptBatches(good(), 0); });
  expect_error("index is -1", [] { draw_prompt(good(), -1); });
}

TEST(PromptInput, Parameters) {
  const PromptRisk risk(good(), 4);
  expect_error("parameters", [&] { risk.at(Vector::Zero(3)); });
  expect_error("parameters", [&] { risk.at(Vector::Constant(risk.size(), NAN)); });
  expect_error("scale down", [&] { risk.at(Vector::Constant(risk.size(), 1e308)); });
  // The attention is finite, but its loss is not.
  Vector large = Vector::Zero(risk.size());
  large.tail(3).setConstant(1e200);
  expect_error("not finite", [&] { risk.at(large); });
  const PromptBatches batches(good(), 4);
  expect_error("parameters", [&] { batches.batch(Vector::Zero(3), 0); });
  expect_error("step is -1", [&] { batches.batch(Vector::Zero(batches.size()), -1); });
  expect_error("step", [&] { batches.batch(Vector::Zero(batches.size()), std::int64_t{1} << 61); });
}

TEST(PromptInput, TaskOfTheUser) {
  const auto with = [](const PromptDraw& draw) {
    return [draw] {
      PromptSetting setting = good();
      setting.task = std::make_shared<Wrong>(draw);
      PromptRisk(setting, 4).at(Vector::Zero(6));
    };
  };
  const MeasurePtr law = test::gaussian(Matrix::Identity(2, 2));
  const Vector query = Vector::Ones(2);
  const Vector one = Vector::Ones(1);
  EXPECT_NO_THROW(with({law, query, one})());
  expect_error("null", with({nullptr, query, one}));
  expect_error("each token", with({test::gaussian(Matrix::Identity(3, 3)), query, one}));
  expect_error("query", with({law, Vector::Ones(3), one}));
  expect_error("query", with({law, Vector::Constant(2, NAN), one}));
  expect_error("target", with({law, query, Vector::Constant(1, kInfinity)}));
  expect_error("no sampler", with({std::make_shared<NoSampler>(), query, one}));
}

TEST(PromptInput, Tasks) {
  const MeasurePtr law = test::gaussian(Matrix::Identity(2, 2));
  const MeasurePtr prior = law, other = test::gaussian(Matrix::Identity(3, 3));
  expect_error("covariates is null", [&] { LawRegression({nullptr, nullptr, prior, nullptr}); });
  expect_error("queries", [&] { LawRegression({law, other, prior, nullptr}); });
  expect_error("prior", [&] { LawRegression({law, law, other, nullptr}); });
  expect_error("prior", [&] { LawRegression({law, law, other, nullptr, nullptr, 2}); });
  expect_error("outputs", [&] { LawRegression({law, law, prior, nullptr, nullptr, 0}); });
  expect_error("needs noise", [&] { LawRegression({law, law, prior, nullptr, law}); });
  expect_error("noise", [&] { LawRegression({law, law, prior, law}); });
  expect_error("mean_scale", [&] { MixtureClassification(0, Matrix::Identity(2, 2)); });
  expect_error("covariance", [&] { MixtureClassification(1, Matrix{{1, 2}, {2, 1}}); });
}

}  // namespace
}  // namespace largo::prompt_input_test
