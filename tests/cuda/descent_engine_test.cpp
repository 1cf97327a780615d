// Descents on a GPU have the bits of the CPU: parameters, moments and records.
#include "gpu_descents.hpp"

namespace largo {
namespace {

TEST_F(GpuDescents, OfEveryLengthHaveTheBitsOfTheCpu) {
  std::vector<Case> cases;
  for (const AttentionKind kind : {AttentionKind::softmax, AttentionKind::linear}) {
    for (const std::int64_t L : {1, 2, 9, 10, 31, 33, 64, 100, 511, 512, 513, 1000, 2500}) {
      cases.push_back({.attention = kind, .length = L, .record_every = 7});
    }
  }
  expect_all_same(device(), cases);
}

TEST_F(GpuDescents, AloneUseSeveralBlocksAndHaveTheSameBits) {
  for (const std::int64_t L : {3, 1000, 5000}) expect_all_same(device(), {{.length = L, .steps = 20}});
}

TEST_F(GpuDescents, OfEveryKindHaveTheBitsOfTheCpu) {
  for (const Parametrisation parameters :
       {Parametrisation::invariant, Parametrisation::merged, Parametrisation::factored}) {
    for (const Optimizer optimizer : {Optimizer::plain, Optimizer::momentum, Optimizer::adam}) {
      std::vector<Case> cases;
      for (const AttentionKind kind : {AttentionKind::softmax, AttentionKind::linear}) {
        cases.push_back({.parameters = parameters,
                         .attention = kind,
                         .optimizer = optimizer,
                         .length = 50,
                         .prompts = 24,
                         .steps = 15});
      }
      expect_all_same(device(), cases);
    }
  }
}

TEST_F(GpuDescents, OfEveryDimensionAndBatchHaveTheBitsOfTheCpu) {
  for (const Eigen::Index d : {1, 2, 6, 7, 8, 15, 16, 20, 31}) {
    for (const std::int64_t prompts : {1, 5, 8, 37}) {
      expect_all_same(
          device(),
          {{.d = d, .length = 30, .prompts = prompts, .steps = 6},
           {.d = d, .attention = AttentionKind::linear, .length = 30, .prompts = prompts, .steps = 6}});
    }
  }
}

TEST_F(GpuDescents, OfLargeScoresHaveTheBitsOfTheCpu) {
  for (const double scale : {3.0, 8.0, 30.0}) {
    Case c{.parameters = Parametrisation::merged,
           .length = 1300,
           .prompts = 24,
           .steps = 3,
           .start_scale = scale};
    expect_all_same(device(), {c});
  }
}

TEST_F(GpuDescents, OfTheLargestDimensionHaveTheBitsOfTheCpu) {
  for (const Parametrisation parameters :
       {Parametrisation::invariant, Parametrisation::merged, Parametrisation::factored}) {
    expect_all_same(device(), {{.d = 31,
                                .parameters = parameters,
                                .optimizer = Optimizer::adam,
                                .length = 600,
                                .prompts = 11,
                                .steps = 3}});
  }
}

// Each prompt has several octets (descent_sharing_test.cpp), and the last block of prompts is not full.
TEST_F(GpuDescents, OfOddBatchesOverSeveralOctetsHaveTheBitsOfTheCpu) {
  for (const std::int64_t prompts : {1, 5, 13, 19, 29}) {
    for (const std::int64_t L : {513, 700, 1025, 2600}) {
      expect_all_same(device(), {{.length = L, .prompts = prompts, .steps = 4, .record_every = 3}});
    }
  }
}

// A Wishart matrix replaces the tokens, whatever their number.
TEST_F(GpuDescents, OfLinearAttentionOverHugePromptsHaveTheBitsOfTheCpu) {
  std::vector<Case> cases;
  for (const std::int64_t L : {std::int64_t{1} << 31, std::int64_t{1} << 40, std::int64_t{1000003} << 30,
                               (std::int64_t{1} << 53) - 1}) {
    cases.push_back({.attention = AttentionKind::linear, .length = L, .prompts = 37, .steps = 12});
  }
  expect_all_same(device(), cases);
}

TEST_F(GpuDescents, AreRefusedWhereTheCpuRefuses) {
  for (const bool softmax : {true, false}) {
    const Case c{.attention = softmax ? AttentionKind::softmax : AttentionKind::linear,
                 .length = std::int64_t{1} << (softmax ? 40 : 53),
                 .prompts = 2,
                 .steps = 1};
    std::string cpu, gpu;
    try {
      on_cpu(c);
    } catch (const InputError& error) {
      cpu = error.what();
    }
    try {
      std::rethrow_exception(on_gpu(device(), {c}).front().error);
    } catch (const InputError& error) {
      gpu = error.what();
    }
    EXPECT_NE(cpu, "");
    EXPECT_EQ(cpu, gpu);
  }
}

TEST_F(GpuDescents, RefuseWhatTheyCannotDo) {
  const Case large{.d = 32, .length = 4, .prompts = 2, .steps = 1};
  try {
    on_gpu(device(), {large});
    FAIL() << "took 32 dimensions";
  } catch (const InputError& error) {
    EXPECT_NE(std::string(error.what()).find("at most 31"), std::string::npos) << error.what();
  }
  std::vector<icl::RegressionDescent> runs{run_of({})};
  runs[0].batches.kernel = PromptKernel::full;
  EXPECT_THROW(
      engine_of<icl::DescentEngine>(device()).descend(published_problem(PublishedData::code, 5),
                                                      Parametrisation::factored, options_of({}), runs),
      InputError);
}

}  // namespace
}  // namespace largo
