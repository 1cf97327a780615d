// How runs share a chip: no GPU is needed.
#include "descent_sharing.hpp"

#include <gtest/gtest.h>

namespace largo::cuda {
namespace {

constexpr Residents kH200{132, 264, 16};

icl::RegressionDescent run_of(std::int64_t length, std::int64_t prompts,
                              AttentionKind attention = AttentionKind::softmax) {
  icl::RegressionDescent run;
  run.batches.length = length;
  run.batches.prompts = prompts;
  run.batches.attention = attention;
  return run;
}

DescentShape alone(std::int64_t length, std::int64_t prompts) {
  const auto groups = share_chip({run_of(length, prompts)}, kH200);
  EXPECT_EQ(groups.size(), 1U);
  return groups.front().shape;
}

TEST(DescentSharing, OneRunHasABlockOfThreadsForEveryBlockOfPrompts) {
  EXPECT_EQ(alone(1000, 128).cluster, 16);
  EXPECT_EQ(alone(10, 128).cluster, 16);
  EXPECT_EQ(alone(1000, 29).cluster, 4);
  EXPECT_EQ(alone(1000, 8).cluster, 1);
  EXPECT_TRUE(alone(1000, 128).apart);
}

// Among others, these are the lengths and batches of OfOddBatchesOverSeveralOctetsHaveTheBitsOfTheCpu.
TEST(DescentSharing, LongPromptsHaveSeveralOctets) {
  EXPECT_EQ(alone(512, 29).octets, 1);
  EXPECT_EQ(alone(513, 29).octets, 2);
  EXPECT_EQ(alone(1025, 29).octets, 4);
  EXPECT_EQ(alone(2600, 5).octets, 4);
  EXPECT_EQ(alone(2600, 19).octets, 2);  // two blocks of threads, one with sixteen prompts
  EXPECT_EQ(alone(2600, 128).octets, 4);
  EXPECT_EQ(share_chip({run_of(5000, 29, AttentionKind::linear)}, kH200).front().shape.octets, 1);
}

TEST(DescentSharing, EveryRunIsInOneGroupAndTheLongestHaveTheMost) {
  std::vector<icl::RegressionDescent> runs;
  for (const std::int64_t L : {10, 3000, 100, 20000, 10}) {
    for (int seed = 0; seed < 20; ++seed) runs.push_back(run_of(L, 128));
  }
  const auto groups = share_chip(runs, kH200);
  std::vector<int> seen(runs.size()), cluster(runs.size());
  for (std::size_t k = 0; k < groups.size(); ++k) {
    if (k > 0) {
      EXPECT_LE(groups[k].shape.cluster, groups[k - 1].shape.cluster);
    }
    for (const std::size_t i : groups[k].runs) {
      ++seen[i];
      cluster[i] = groups[k].shape.cluster;
    }
  }
  EXPECT_EQ(seen, std::vector<int>(runs.size(), 1));
  EXPECT_GT(cluster[60], cluster[0]);
  EXPECT_EQ(cluster[0], cluster[99]);
}

TEST(DescentSharing, WithoutClustersARunHasOneBlockOfThreads) {
  for (const DescentGroup& group : share_chip({run_of(5000, 128), run_of(10, 128)}, {108, 216, 1})) {
    EXPECT_EQ(group.shape.cluster, 1);
    EXPECT_FALSE(group.shape.apart);
  }
}

}  // namespace
}  // namespace largo::cuda
