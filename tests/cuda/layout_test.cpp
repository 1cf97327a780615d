// How launches share the work, and what fits a GPU: no GPU is needed.
#include <gtest/gtest.h>

#include <cmath>

#include "chunk_layout.hpp"
#include "launch_plan.hpp"
#include "prompts/score_sums.hpp"
#include "running_sum.cuh"

namespace largo {
namespace {

TEST(LaunchPlan, IsBoundedAndTakesAllChunks) {
  for (const std::int64_t prompts : {1, 3, 64, 65, 1000, 32768}) {
    for (const std::int64_t chunks :
         {std::int64_t{1}, std::int64_t{2}, std::int64_t{63}, std::int64_t{3907}, std::int64_t{1} << 32}) {
      for (const std::int64_t most : {1, 7, 64, 2572, 1766023}) {
        const auto [together, slice] = cuda::plan_launches(prompts, chunks, most);
        ASSERT_GE(together, 1);
        ASSERT_GE(slice, 1);
        EXPECT_LE(together, prompts);
        EXPECT_LE(slice, chunks);
        EXPECT_LE(together * slice, most);
        // Long prompts fill their launches, except for what an even division costs.
        if (chunks >= most && prompts >= 64 && most >= 64) {
          EXPECT_GE(together * slice, most / 3);
        }
      }
    }
  }
  EXPECT_EQ(cuda::plan_launches(1000, 10, 5000).prompts, 500) << "whole prompts where many fit";
  EXPECT_EQ(cuda::plan_launches(1000, 10, 5000).chunks, 10);
}

TEST(TokenLimit, IsThatOfTheSharedMemory) {
  EXPECT_EQ(cuda::most_token_numbers(227 * 1024), cuda::kMostTokenNumbers) << "compute capability 9.0";
  EXPECT_EQ(cuda::most_token_numbers(163 * 1024), 125) << "8.0";
  EXPECT_EQ(cuda::most_token_numbers(99 * 1024), 76) << "8.6 and 8.9";
  EXPECT_EQ(cuda::most_token_numbers(0), 0);
}

// The sums are those of ScoreSums::merge over the same rows, for each power of the weight.
TEST(RunningSums, AreThoseOfTheCpu) {
  prompts::ScoreSums cpu;
  cuda::RunningSum gpu[3];
  for (int i = 0; i < 2000; ++i) {
    const double w = 1 + std::sin(i), top = std::round(40 * std::sin(0.3 * i) + (i % 97 == 0 ? 900 : 0));
    const prompts::ScoreSums more{w, w / 3, w / 5,     w * w,
                                  w, w / 7, w * w * w, static_cast<std::int64_t>(top)};
    cpu.merge(more);
    gpu[0].add(more.w, top, 1);
    gpu[1].add(more.ww, top, 2);
    gpu[2].add(more.www, top, 3);
    ASSERT_EQ(cpu.w, gpu[0].sum) << i;
    ASSERT_EQ(cpu.ww, gpu[1].sum) << i;
    ASSERT_EQ(cpu.www, gpu[2].sum) << i;
    ASSERT_EQ(static_cast<double>(cpu.top), gpu[2].top) << i;
  }
}

TEST(RunningSums, ReadEveryRowOnceAndInOrder) {
  for (const std::int64_t count : {1, 7, 8, 9, 40}) {
    std::vector<double> rows;
    for (std::int64_t i = 0; i < count; ++i)
      rows.insert(rows.end(), {-1.0, static_cast<double>(i), 100.0 + static_cast<double>(i)});
    std::int64_t next = 0;
    cuda::for_rows_of(rows.data(), count, 3, 1, [&](double number, double top) {
      EXPECT_EQ(number, static_cast<double>(next));
      EXPECT_EQ(top, 100.0 + static_cast<double>(next++));
    });
    EXPECT_EQ(next, count);
  }
}

}  // namespace
}  // namespace largo
