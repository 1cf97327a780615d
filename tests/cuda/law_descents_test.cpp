// Descents on other problems than Gaussian regression have the bits of the CPU, for every law, loss and kind
// of parameters that kernels know; the others are refused.
#include <functional>

#include "gpu_descents.hpp"
#include "largo/icl/law_regression.hpp"
#include "largo/icl/loss.hpp"
#include "largo/measures/mixture.hpp"
#include "largo/measures/named_law.hpp"
#include "largo/runtime/check.hpp"

namespace largo {
namespace {

MeasurePtr law(const std::string& name, Eigen::Index d) { return named_law(name, d); }

struct LawCase {
  std::string covariates = "sphere:radius=2", queries = {}, prior = {}, noise = {}, noise_scale = {};
  LossPtr loss = squared_loss();
  double score_scale = 1;
  Case descent = {.parameters = Parametrisation::merged, .length = 60, .prompts = 24, .steps = 6};
};

PromptSetting setting_of(const LawCase& c) {
  const Eigen::Index d = c.descent.d;
  const auto optional = [](const std::string& name, Eigen::Index size) {
    return name.empty() ? MeasurePtr() : law(name, size);
  };
  const auto task = std::make_shared<LawRegression>(
      RegressionLaws{law(c.covariates, d), optional(c.queries, d), optional(c.prior, d), optional(c.noise, 1),
                     optional(c.noise_scale, 1)});
  return {task,          c.loss,        static_cast<double>(c.descent.length), c.descent.attention,
          c.score_scale, c.descent.seed};
}

icl::RegressionDescent run_of(const LawCase& c) {
  icl::RegressionDescent run = run_of(c.descent);
  run.prompts = setting_of(c);
  run.state.parameters = 0.4 * run.state.parameters;
  return run;
}

// All cases must share their laws, loss, batch and parameters.
void expect_all_same(const Device& device, std::vector<LawCase> cases) {
  std::vector<icl::RegressionDescent> runs;
  for (LawCase& c : cases) {
    c.descent = shortened(c.descent);
    runs.push_back(run_of(c));
  }
  const Case& first = cases.front().descent;
  engine_of<icl::DescentEngine>(device).descend({}, first.parameters, options_of(first), runs);
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const LawCase& c = cases[i];
    const std::string what =
        c.covariates + ", prior " + c.prior + ", noise " + c.noise + ", " + describe(c.descent);
    ASSERT_EQ(runs[i].error, nullptr) << what;
    const icl::RegressionDescent run = run_of(c);
    const auto risk = in_parameters(icl::batches_of({}, run), map_of(c.descent));
    expect_same(descend(*risk, run.state, options_of(c.descent)), runs[i].state, what);
  }
}

using LawDescents = GpuTest;

TEST_F(LawDescents, OfEveryLengthHaveTheBitsOfTheCpu) {
  for (const char* covariates : {"sphere:radius=2", "rademacher"}) {
    std::vector<LawCase> cases;
    for (const std::int64_t L : {1, 2, 7, 8, 9, 31, 32, 33, 50, 64, 65, 100, 255, 256, 257, 300, 513, 1000}) {
      LawCase c{.covariates = covariates, .noise = "gaussian:cov=0.1*identity"};
      c.descent.length = L;
      c.descent.record_every = 4;
      cases.push_back(c);
    }
    expect_all_same(device(), cases);
  }
}

TEST_F(LawDescents, OfEveryLawHaveTheBitsOfTheCpu) {
  for (const char* covariates :
       {"sphere", "ball:radius=2", "rademacher", "uniform:half-width=1.5", "laplace:scale=0.5,bound=4",
        "three-point:mass=0.3", "gaussian:cov=toeplitz:0.5,mean=0.3,0,-0.2", "elliptical:low=0.5,high=2",
        "elliptical:base=sphere,cov=toeplitz:0.4,values=1,4,weights=0.5,0.5"}) {
    for (const char* noise : {"", "gaussian:cov=0.2*identity", "uniform", "laplace", "gaussian:mean=0.4",
                              "elliptical:low=0.5,high=2", "gaussian:cov=zeros,mean=0.3"}) {
      LawCase c{.covariates = covariates, .noise = noise};
      c.descent.d = 3;
      c.descent.steps = 3;
      expect_all_same(device(), {c});
    }
  }
}

// Two tokens share a pair of normals where covariates leave none to spare.
TEST_F(LawDescents, WithSharedPairsHaveTheBitsOfTheCpu) {
  for (const char* covariates :
       {"sphere", "ball", "gaussian:cov=toeplitz:0.5", "elliptical:low=0.5,high=2", "rademacher"}) {
    for (const Eigen::Index d : {2, 4}) {
      LawCase c{.covariates = covariates, .noise = "gaussian"};
      c.descent.d = d;
      c.descent.length = 300;
      c.descent.steps = 3;
      expect_all_same(device(), {c});
    }
  }
}

TEST_F(LawDescents, OfEveryTaskHaveTheBitsOfTheCpu) {
  for (const char* prior : {"", "laplace", "rademacher", "sphere:radius=2",
                            "gaussian:cov=toeplitz:0.5,mean=1,0,0", "elliptical:low=0.5,high=2"}) {
    for (const char* queries : {"", "gaussian", "uniform:half-width=2", "ball"}) {
      LawCase c{
          .queries = queries, .prior = prior, .noise = "gaussian", .noise_scale = "uniform:half-width=0.7"};
      c.descent.d = 3;
      c.descent.steps = 3;
      c.score_scale = 0.6;
      expect_all_same(device(), {c});
    }
  }
}

TEST_F(LawDescents, OfEveryLossAndKindOfParametersHaveTheBitsOfTheCpu) {
  for (const LossPtr& loss : {squared_loss(), huber_loss(0.3), absolute_loss()}) {
    for (const Parametrisation parameters :
         {Parametrisation::invariant, Parametrisation::merged, Parametrisation::factored}) {
      for (const Optimizer optimizer : {Optimizer::plain, Optimizer::momentum, Optimizer::adam}) {
        LawCase c{.noise = "gaussian", .loss = loss};
        c.descent.parameters = parameters;
        c.descent.optimizer = optimizer;
        expect_all_same(device(), {c});
      }
    }
  }
}

TEST_F(LawDescents, OfEveryDimensionAndBatchHaveTheBitsOfTheCpu) {
  for (const Eigen::Index d : {1, 2, 4, 7, 8, 15, 16, 31}) {
    for (const std::int64_t prompts : {1, 5, 8, 37, 130}) {
      LawCase c{.covariates = d % 2 == 0 ? "uniform" : "sphere", .noise = "gaussian"};
      c.descent.d = d;
      c.descent.prompts = prompts;
      c.descent.length = 300;
      c.descent.steps = 3;
      expect_all_same(device(), {c});
    }
  }
}

TEST_F(LawDescents, WithLargeScoresHaveTheBitsOfTheCpu) {
  for (const double scale : {10.0, 100.0, 1000.0}) {
    LawCase c{.noise = "gaussian", .score_scale = scale};
    c.descent.length = 700;
    c.descent.steps = 2;
    expect_all_same(device(), {c});
  }
}

TEST_F(LawDescents, RefuseWhatTheyCannotDo) {
  const auto refusal = [&](const LawCase& c, const std::function<void(icl::RegressionDescent&)>& change) {
    std::vector<icl::RegressionDescent> runs{run_of(c)};
    change(runs[0]);
    try {
      engine_of<icl::DescentEngine>(device()).descend({}, c.descent.parameters, options_of(c.descent), runs);
    } catch (const InputError& error) {
      return std::string(error.what());
    }
    return std::string("nothing refused");
  };
  const auto as_it_is = [](icl::RegressionDescent&) {};
  const MeasurePtr gaussian = law("gaussian", 5);
  const auto mixture =
      std::make_shared<MixtureMeasure>(Vector{{0.5, 0.5}}, std::vector<MeasurePtr>{gaussian, gaussian});
  EXPECT_NE(refusal({.loss = logistic_loss()}, as_it_is).find("this loss"), std::string::npos);
  EXPECT_NE(refusal({},
                    [&](icl::RegressionDescent& run) {
                      run.prompts->task = std::make_shared<LawRegression>(RegressionLaws{mixture});
                    })
                .find("only sample themselves"),
            std::string::npos);
  EXPECT_NE(refusal({}, [](icl::RegressionDescent& run) { run.prompts->attention = AttentionKind::linear; })
                .find("linear attention"),
            std::string::npos);
  EXPECT_NE(refusal({.noise = "ball"}, as_it_is).find("noise of a label"), std::string::npos);
  EXPECT_NE(refusal({.covariates = "gaussian:cov=zeros"}, as_it_is).find("do not vary"), std::string::npos);
}

}  // namespace
}  // namespace largo
