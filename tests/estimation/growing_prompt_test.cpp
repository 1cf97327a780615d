// Attention over the prefixes of one prompt, against its definition at every length.
#include "estimation/growing_prompt.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "largo/measures/gaussian.hpp"
#include "largo/measures/named_law.hpp"
#include "largo/runtime/check.hpp"

namespace largo::test::growing_prompt_test {
namespace {

// Sums of 9000 terms in another order, in wider numbers.
constexpr double kRelative = 1e-10;

struct Head {
  MeasurePtr law = named_law("gaussian:cov=toeplitz:0.5,mean=0.5,-1,0.2", 3);
  Matrix V = (Matrix(2, 3) << 1, 0.3, -0.2, 0.5, -1, 0.4).finished();
  Vector direction = (Vector(3) << 0.4, 0.7, -0.6).finished();
  Vector limit = (Vector(2) << 0.3, -0.4).finished();  // any point will do
  Stream stream{5, 11};
};

TEST(GrowingPrompt, IsTheDefinitionAtEveryLength) {
  const Head head;
  const std::vector<std::int64_t> ends = {1, 7, 100, 4096, 4097, 9000};
  const auto stretches =
      estimation::follow_growing_prompt(*head.law, head.V, head.direction, head.limit, head.stream, ends);
  const RowMatrix tokens = sample_prompt(*head.law, head.stream, ends.back());
  long double mass = 0, sums[2] = {0, 0};
  std::size_t stretch = 0;
  double largest = 0, scaled = 0;
  for (std::int64_t L = 1; L <= ends.back(); ++L) {
    const Vector token = tokens.row(L - 1).transpose(), value = head.V * token;
    const long double weight = std::exp(static_cast<long double>(token.dot(head.direction)));
    mass += weight;
    for (int k = 0; k < 2; ++k) sums[k] += weight * static_cast<long double>(value[k]);
    const double distance = std::hypot(static_cast<double>(sums[0] / mass) - head.limit[0],
                                       static_cast<double>(sums[1] / mass) - head.limit[1]);
    largest = std::max(largest, distance);
    scaled = std::max(scaled, distance * std::sqrt(static_cast<double>(L)));
    if (L != ends[stretch]) continue;
    EXPECT_EQ(stretches[stretch].last, L);
    EXPECT_NEAR(stretches[stretch].distance, distance, kRelative * distance) << L;
    EXPECT_NEAR(stretches[stretch].largest_distance, largest, kRelative * largest) << L;
    EXPECT_NEAR(stretches[stretch].largest_scaled, scaled, kRelative * scaled) << L;
    ++stretch;
    largest = scaled = 0;
  }
  EXPECT_EQ(stretch, ends.size());
}

TEST(GrowingPrompt, SameBitsForAnyNumberOfThreads) {
  const Head head;
  const std::vector<std::int64_t> ends = {10, 300'000};
  const auto follow = [&](int threads) {
    return estimation::follow_growing_prompt(*head.law, head.V, head.direction, head.limit, head.stream, ends,
                                             {.threads = threads});
  };
  const auto one = follow(1), three = follow(3);
  for (std::size_t i = 0; i < ends.size(); ++i) {
    EXPECT_EQ(one[i].distance, three[i].distance);
    EXPECT_EQ(one[i].largest_distance, three[i].largest_distance);
    EXPECT_EQ(one[i].largest_scaled, three[i].largest_scaled);
  }
}

TEST(GrowingPrompt, OddInputs) {
  const Head head;
  const auto follow = [&](const Vector& direction, const Vector& limit, std::vector<std::int64_t> ends) {
    estimation::follow_growing_prompt(*head.law, head.V, direction, limit, head.stream, ends);
  };
  EXPECT_THROW(follow(Vector::Zero(2), head.limit, {10}), InputError);
  EXPECT_THROW(follow(head.direction, Vector::Zero(3), {10}), InputError);
  EXPECT_THROW(follow(head.direction, head.limit, {}), InputError);
  EXPECT_THROW(follow(head.direction, head.limit, {0, 10}), InputError);
  EXPECT_THROW(follow(head.direction, head.limit, {10, 10}), InputError);
}

}  // namespace
}  // namespace largo::test::growing_prompt_test
