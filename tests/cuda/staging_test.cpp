// Finds out which prompts are bfloat16, whatever their layout: no GPU is needed.
#include "staging.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <vector>

namespace largo {
namespace {

TEST(Bfloat16, IsSeenInEveryNumber) {
  constexpr std::int64_t kRows = 30000, kColumns = 5;
  std::vector<float> numbers(kRows * kColumns);
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<float>(i % 251) * 0.25F - 20;
  const ArrayView rows{numbers.data(), Scalar::float32, kRows, kColumns, kColumns, 1};
  const ArrayView columns{numbers.data(), Scalar::float32, kRows, kColumns, 1, kRows};
  EXPECT_TRUE(cuda::are_halves(rows, {}));
  EXPECT_TRUE(cuda::are_halves(columns, {.threads = 1}));
  for (const std::size_t at : {std::size_t{0}, numbers.size() / 2, numbers.size() - 1}) {
    const float before = numbers[at];
    numbers[at] = 1.0F + 0x1p-20F;
    EXPECT_FALSE(cuda::are_halves(rows, {})) << at;
    EXPECT_FALSE(cuda::are_halves(columns, {})) << at;
    numbers[at] = before;
  }
  const std::atomic<bool> stop = true;
  EXPECT_THROW(cuda::are_halves(rows, {.stop = &stop}), Stopped);
}

}  // namespace
}  // namespace largo
