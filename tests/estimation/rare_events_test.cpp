// Warnings about queries and tokens that a sample misses do not depend on a draw.
#include "estimation/rare_events.hpp"
#include "estimation/rare_queries.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <string>

#include "largo/measures/gaussian.hpp"
#include "largo/measures/mixture.hpp"
#include "largo/measures/named_law.hpp"

namespace largo::rare_events_test {
namespace {

MeasurePtr gaussian(const Vector& mean, const Vector& variances) {
  return std::make_shared<GaussianMeasure>(mean, Matrix(variances.asDiagonal()));
}

struct Asked {
  MeasurePtr tokens, queries;
  Matrix U = {};
  std::int64_t length = 1000;

  std::vector<std::string> warnings(std::int64_t prompts) const {
    const std::ptrdiff_t d = tokens->dimension();
    const Matrix scores = U.size() > 0 ? U : Matrix(Matrix::Identity(d, d));
    const Matrix V = Matrix::Identity(d, d);
    const estimation::SampledLayer layer{*tokens, scores, V, length, true};
    const estimation::QueryProposal proposal(*queries, *tokens, scores, static_cast<double>(length));
    return estimation::rare_events(layer, *queries, proposal, prompts);
  }
};

// Tokens that scores hardly ever see: their variance along `mean` is almost zero, and yet they have all of
// the weight at queries four deviations out along it.
Asked rare_component(double weight, const Vector& mean, const Vector& variances) {
  const Vector none = Vector::Zero(mean.size());
  const auto tokens = std::make_shared<MixtureMeasure>(
      Vector{{1 - weight, weight}},
      std::vector<MeasurePtr>{gaussian(none, variances), gaussian(mean, variances)});
  Vector spread = Vector::Constant(mean.size(), 0.04);
  spread[0] = 0.25;
  return {tokens, gaussian(none, spread)};
}

// At one query, with prompts of one token too: nothing condenses there, and the rare atoms are the error.
TEST(RareEvents, AtomsAtOneQuery) {
  const MeasurePtr tokens = named_law("three-point:mass=1e-7", 1);
  const Matrix one = Matrix::Identity(1, 1);
  const estimation::QueryLimit limit(*tokens, one, Vector::Ones(1), TiltOrder::covariance);
  for (const std::int64_t length : {1, 10, 1000}) {
    const estimation::SampledLayer layer{*tokens, one, one, length, false};
    const std::vector<std::string> said = estimation::rare_events(layer, limit, 200);
    ASSERT_EQ(said.size(), 1U) << length;
    EXPECT_NE(said[0].find("rare tokens"), std::string::npos) << said[0];
  }
}

TEST(RareEvents, FindsQueriesOffTheAxisOfLargestScores) {
  EXPECT_FALSE(rare_component(1e-7, Vector{{0, 20}}, Vector{{1, 1e-4}}).warnings(8000).empty());
  // The component lies in a direction that is no axis of anything else.
  const Vector oblique = 20 * Vector{{0, 1, -2, 3}}.normalized();
  EXPECT_FALSE(rare_component(1e-7, oblique, Vector{{1, 0.02, 0.01, 0.03}}).warnings(8000).empty());
  // The component is wide and not shifted.
  Asked wide = rare_component(1e-7, Vector{{0, 0}}, Vector{{1, 1e-4}});
  wide.tokens = std::make_shared<MixtureMeasure>(
      Vector{{1 - 1e-7, 1e-7}}, std::vector<MeasurePtr>{gaussian(Vector{{0, 0}}, Vector{{1, 1e-4}}),
                                                        gaussian(Vector{{0, 0}}, Vector{{1e-4, 25}})});
  EXPECT_FALSE(wide.warnings(8000).empty());
}

TEST(RareEvents, SaysNothingOfMixturesWithoutRareComponents) {
  for (const double weight : {0.5, 0.1}) {
    Asked plain = rare_component(weight, Vector{{0, 1}}, Vector{{1, 0.5}});
    plain.U = 0.5 * Matrix::Identity(2, 2);
    EXPECT_TRUE(plain.warnings(8000).empty()) << plain.warnings(8000)[0];
  }
}

// The warning is one sentence with meaningful numbers, and its advice is enough once it is taken.
TEST(RareEvents, AdvisesANumberOfPromptsThatWillDo) {
  const MeasurePtr normal = named_law("gaussian", 1);
  const Asked settings[] = {
      {normal, named_law("gaussian:cov=0.3*identity", 1), {}, 10000},
      {normal, named_law("gaussian:cov=identity", 1), {}, 1000},
      {normal, named_law("three-point:mass=1e-5,scale=3", 1), {}, 300},
      {named_law("three-point:mass=1e-7", 1), named_law("gaussian", 1), {}, 100},
      rare_component(1e-7, Vector{{0, 20}}, Vector{{1, 1e-4}}),
  };
  for (const Asked& asked : settings) {
    for (const std::int64_t prompts : {100, 300, 1000}) {
      const std::vector<std::string> first = asked.warnings(prompts);
      if (first.empty()) continue;
      ASSERT_EQ(first.size(), 1U);
      const std::string before = "take at least ";
      const std::size_t at = first[0].find(before);
      ASSERT_NE(at, std::string::npos) << first[0];
      const double advised = std::strtod(first[0].c_str() + at + before.size(), nullptr);
      ASSERT_GT(advised, static_cast<double>(prompts)) << first[0];
      const auto then = asked.warnings(static_cast<std::int64_t>(advised));
      EXPECT_TRUE(then.empty()) << first[0] << "\n" << then[0];
    }
  }
}

TEST(RareEvents, SaysWhereNoNumberOfPromptsWillDo) {
  const Asked hopeless{named_law("three-point:mass=1e-300", 1), named_law("gaussian", 1), {}, 100};
  const std::vector<std::string> said = hopeless.warnings(1000);
  ASSERT_EQ(said.size(), 1U);
  EXPECT_EQ(said[0].find("inf"), std::string::npos) << said[0];
  EXPECT_EQ(said[0].find("take at least"), std::string::npos) << said[0];
  EXPECT_NE(said[0].find("no number of prompts within reach"), std::string::npos) << said[0];
}

}  // namespace
}  // namespace largo::rare_events_test
