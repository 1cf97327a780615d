#include "largo/concentration/error_path.hpp"

#include <gtest/gtest.h>

#include "largo/concentration/exact_errors.hpp"
#include "largo/runtime/check.hpp"
#include "layers.hpp"

namespace largo::test::error_path_test {
namespace {

std::vector<PathPoint> arc(std::size_t points) {
  std::vector<PathPoint> path;
  for (std::size_t t = 0; t < points; ++t) {  // scores grow, then shrink; values grow
    const double x = static_cast<double>(t) / static_cast<double>(points - 1);
    path.push_back(
        {(0.2 + 3 * x * (1 - x)) * random_matrix(3, 3, 1), (1 + 0.1 * x) * random_matrix(2, 3, 2)});
  }
  return path;
}

TEST(ErrorPath, SupremumIsTheLargestOfThePoints) {
  const MeasurePtr tokens = test::standard_gaussian(3);
  const auto path = arc(9);
  const PathErrors errors = errors_along_path(tokens, tokens, path, 50, ErrorMethod::exact);
  ASSERT_EQ(errors.rows.size(), path.size());
  double output = 0, gradient_U = 0;
  for (std::size_t i = 0; i < path.size(); ++i) {
    const LayerErrors at = ExactErrors({tokens, path[i].U, path[i].V, tokens})(50);
    EXPECT_EQ(errors.rows[i].output.value, at.output.value);
    output = std::max(output, at.output.value);
    gradient_U = std::max(gradient_U, at.gradient_U->value);
  }
  EXPECT_EQ(errors.output.error.value, output);
  EXPECT_EQ(errors.gradient_U->error.value, gradient_U);
  EXPECT_EQ(errors.rows[errors.output.at].output.value, output);
  EXPECT_GT(errors.output.at, 0U);
  EXPECT_LT(errors.output.at, path.size() - 1);
}

// All points of a path share their prompts: where the layer does not change, neither do the errors.
TEST(ErrorPath, SampledPointsShareTheirPrompts) {
  const MeasurePtr tokens = test::standard_gaussian(3);
  auto path = arc(5);
  path[4] = path[2];
  ConcentrationPlan plan;
  plan.sampling.samples = 300;
  const PathErrors errors =
      errors_along_path(tokens, Vector(test::random_vector(3, 5)), path, 20, ErrorMethod::sampled, plan);
  EXPECT_EQ(errors.rows[2].output.value, errors.rows[4].output.value);
  EXPECT_GT(errors.rows[2].prompts, 0);
  const double exact =
      ExactErrors({tokens, path[2].U, path[2].V, Vector(test::random_vector(3, 5))})(20).output.value;
  EXPECT_NEAR(errors.rows[2].output.value, exact, 4 * errors.rows[2].output.error);
}

TEST(ErrorPath, RefusesBadInput) {
  const MeasurePtr tokens = test::standard_gaussian(3);
  EXPECT_THROW(errors_along_path(tokens, tokens, {}, 50, ErrorMethod::exact), InputError);
  auto path = arc(3);
  path[1].U = Matrix::Identity(2, 2);
  EXPECT_THROW(errors_along_path(tokens, tokens, path, 50, ErrorMethod::exact), InputError);
  EXPECT_THROW(errors_along_path(tokens, tokens, arc(3), 2.5, ErrorMethod::sampled), InputError);
}

}  // namespace
}  // namespace largo::test::error_path_test
