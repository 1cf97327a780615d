#include "largo/exact/length_law.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>
#include <string>

#include "exact/named_lengths.hpp"
#include "largo/exact/softmax_table.hpp"
#include "largo/runtime/check.hpp"

namespace largo::length_law_test {
namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();

// E f(L), from the law itself.
template <typename Function>
double average(const LengthLaw& law, const Function& f) {
  long double sum = 0;
  for (std::size_t i = 0; i < law.lengths().size(); ++i) sum += law.probabilities()[i] * f(law.lengths()[i]);
  return static_cast<double>(sum);
}

TEST(LengthLaw, OneLengthIsItself) {
  const LengthLaw law = 100;
  EXPECT_TRUE(law.is_one_length());
  EXPECT_FALSE(law.is_infinite());
  EXPECT_EQ(law.harmonic_mean(), 100);
  EXPECT_EQ(law.name(), "100");
  ASSERT_EQ(law.rule().size(), 1U);
  EXPECT_EQ(law.rule()[0].L, 100);
  EXPECT_EQ(law.rule()[0].weight, 1);
  EXPECT_TRUE(LengthLaw(kInfinite).is_infinite());
}

TEST(LengthLaw, ProbabilitiesAndMeans) {
  const LengthLaw two({100, 10}, {0.25, 0.75});
  EXPECT_EQ(two.shortest(), 10);
  EXPECT_EQ(two.longest(), 100);
  EXPECT_DOUBLE_EQ(two.mean(), 32.5);
  EXPECT_DOUBLE_EQ(two.harmonic_mean(), 1 / (0.0025 + 0.075));
  EXPECT_EQ(two.name(), "10=0.75,100=0.25");
  EXPECT_EQ(two.quantile(0), 10);
  EXPECT_EQ(two.quantile(0.7499), 10);
  EXPECT_EQ(two.quantile(0.75), 100);
  EXPECT_EQ(two.quantile(std::nextafter(1.0, 0.0)), 100);
  EXPECT_EQ(LengthLaw(7).quantile(0.5), 7);
  const LengthLaw geometric = LengthLaw::geometric(50);
  EXPECT_NEAR(geometric.mean(), 50, 1e-10);
  EXPECT_NEAR(std::accumulate(geometric.probabilities().begin(), geometric.probabilities().end(), 0.0), 1,
              1e-14);
  EXPECT_NEAR(geometric.probabilities()[1] / geometric.probabilities()[0], 0.98, 1e-15);
}

// The rule of few nodes against the sum over all lengths. No statistic of it is used to choose the nodes but
// those at s = 0.
TEST(LengthLaw, TheRuleAveragesAllStatistics) {
  for (const LengthLaw& law :
       {LengthLaw::uniform(1, 64), LengthLaw::uniform(5, 700), LengthLaw::geometric(20)}) {
    EXPECT_LT(law.rule().size(), 30U) << law.name();
    for (const double s : {0.2, 1.0, 2.5, 5.0}) {
      const auto through_rule = [&](auto field) {
        double sum = 0;
        for (const auto& [L, weight] : law.rule()) sum += weight * (softmax_moments(s, L).*field).value;
        return sum;
      };
      for (const auto field : {&SoftmaxMoments::P2, &SoftmaxMoments::P3, &SoftmaxMoments::P2P2,
                               &SoftmaxMoments::mean, &SoftmaxMoments::square}) {
        const double exact = average(law, [&](double L) { return (softmax_moments(s, L).*field).value; });
        EXPECT_NEAR(through_rule(field), exact, 1e-12 * exact) << law.name() << ", s = " << s;
      }
    }
  }
}

// Many lengths over six decades: 1/L^k for k that did not choose the nodes, against the sum.
TEST(LengthLaw, TheRuleOfAMillionLengths) {
  const LengthLaw law = LengthLaw::uniform(1, 1'000'000);
  EXPECT_LT(law.rule().size(), 40U);
  double sum = 0;
  for (const auto& node : law.rule()) {
    EXPECT_GE(node.weight, 0);
    sum += node.weight;
  }
  EXPECT_NEAR(sum, 1, 1e-13);
  EXPECT_LT(LengthLaw::geometric(LengthLaw::kLargestMean).rule().size(), 40U);
  EXPECT_LT(LengthLaw::uniform(1, LengthLaw::kMostLengths).rule().size(), 40U);
  for (const double power : {-0.5, -1.0, -1.5}) {
    double through_rule = 0;
    for (const auto& node : law.rule()) through_rule += node.weight * std::pow(node.L, power);
    const double exact = average(law, [&](double L) { return std::pow(L, power); });
    EXPECT_NEAR(through_rule, exact, 1e-11 * exact) << power;
  }
}

// Lengths that share an integral, against an integral each: long and short ones, above and below the line of
// condensation, groups that are as wide as they may be, lengths with closed forms and far lengths.
TEST(LengthLaw, LengthsShareAnIntegral) {
  using M = SoftmaxMoments;
  constexpr double kRoundingOfSums = 2e-12;
  for (const LengthLaw& law :
       {LengthLaw::uniform(1, 64), LengthLaw::uniform(5, 700), LengthLaw::uniform(1, LengthLaw::kMostLengths),
        LengthLaw::geometric(LengthLaw::kLargestMean), LengthLaw({1, 7, 3000}, {0.1, 0.2, 0.7}),
        LengthLaw({2, 20000}, {1e-6, 1 - 1e-6}), LengthLaw({1e3, 1e7}, {1e-12, 1 - 1e-12}),
        LengthLaw({1, 2}, {1 - 1e-9, 1e-9}), LengthLaw({3, 1e12}, {0.5, 0.5})}) {
    for (const double s : {0.0, 1e-9, 1e-3, 0.3, 0.99, 1.5, 2.2, 2.9, 4.0, 6.0, 40.0, 1e4}) {
      const M got = softmax_moments(s, law.rule());
      EXPECT_NEAR(got.self_check, 0, 1e-13) << law.name() << ", s = " << s;
      for (const auto field :
           {&M::P2, &M::P3, &M::P2P2, &M::mean, &M::bias, &M::mse, &M::square, &M::variance, &M::variance_mse,
            &M::variance_P2, &M::squared_spread, &M::P2_slope, &M::P3_slope, &M::P2P2_slope}) {
        double value = 0, error = 0, size = 0;
        for (const auto& [L, weight] : law.rule()) {
          const Estimate alone = softmax_moments(s, L).*field;
          value += weight * alone.value;
          error += weight * alone.error;
          size += weight * std::abs(alone.value);
        }
        const double difference = std::abs((got.*field).value - value);
        EXPECT_LE(difference, kRoundingOfSums * size) << law.name() << ", s = " << s;
        EXPECT_LE(difference, (got.*field).error + error + 1e-15 * size) << law.name() << ", s = " << s;
      }
    }
  }
}

TEST(LengthLaw, TablesOfALawAreAverages) {
  for (const LengthLaw& law : {LengthLaw::uniform(1, 64), LengthLaw::uniform(5, 700),
                               LengthLaw::geometric(20), LengthLaw({1, 7, 3000}, {0.1, 0.2, 0.7})}) {
    const SoftmaxTable table(law);
    for (const double s : {0.0, 0.3, 1.7, 4.0, 9.0, 40.0}) {
      const SoftmaxStatistics got = table(s);
      SoftmaxStatistics sum;
      for (std::size_t i = 0; i < law.lengths().size(); ++i) {
        const SoftmaxStatistics m = softmax_statistics(s, law.lengths()[i]);
        const double weight = law.probabilities()[i];
        sum.P2 += weight * m.P2;
        sum.P3 += weight * m.P3;
        sum.P2P2 += weight * m.P2P2;
        sum.mse += weight * m.mse;
        sum.F += weight * m.F;
        sum.P2_slope += weight * m.P2_slope;
      }
      EXPECT_LE(got.relative_error, 1e-9) << law.name() << ", s = " << s;
      const double error = std::min(1e-11, got.relative_error);
      EXPECT_NEAR(got.P2, sum.P2, error * sum.P2) << law.name() << ", s = " << s;
      EXPECT_NEAR(got.P3, sum.P3, error * sum.P3) << law.name() << ", s = " << s;
      EXPECT_NEAR(got.P2P2, sum.P2P2, error * sum.P2P2) << law.name() << ", s = " << s;
      EXPECT_NEAR(got.mse, sum.mse, error * sum.mse) << law.name() << ", s = " << s;
      EXPECT_NEAR(got.F, sum.F, error * (sum.F + sum.P2 / (1 + s * s))) << law.name() << ", s = " << s;
      EXPECT_NEAR(got.P2_slope, sum.P2_slope, error * (1 + s) * sum.P2) << law.name() << ", s = " << s;
    }
  }
}

std::string message_of(const std::string& text, io::LengthKind kind = io::LengthKind::kReal) {
  try {
    exact::parse_length_laws("--L", text, kind);
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

TEST(NamedLengths, ListsAndLaws) {
  const auto laws =
      exact::parse_length_laws("--L", "10, uniform:1:64,inf,geometric:50", io::LengthKind::kWhole);
  ASSERT_EQ(laws.size(), 4U);
  EXPECT_EQ(laws[0].longest(), 10);
  EXPECT_EQ(laws[1].name(), "uniform:1:64");
  EXPECT_TRUE(laws[2].is_infinite());
  EXPECT_EQ(laws[3].name(), "geometric:50");
  EXPECT_EQ(exact::parse_length_laws("--L", "1e1:1e6:13", io::LengthKind::kWhole).size(), 13U);
  EXPECT_EQ(exact::parse_length_laws("--L", "uniform:7:7", io::LengthKind::kWhole)[0].name(), "7");
  const LengthLaw two = named_length_law("10=0.5,100=0.5");
  EXPECT_EQ(two, LengthLaw({10, 100}, {0.5, 0.5}));
  EXPECT_EQ(named_length_law(two.name()), two);
}

TEST(NamedLengths, BadOnesSayWhatIsWrong) {
  for (const auto& [text, part] :
       {std::pair("10=0.5,100=0.4", "sum of the probabilities is 0.9, must be 1"),
        std::pair("10=0.5,10=0.5", "the length 10 is given twice"),
        std::pair("10=-0.5,100=1.5", "probability of L = 10 is -0.5, must be positive"),
        std::pair("10=0.5,100", "must be a length and its probability each"),
        std::pair("uniform:1", "uniform:FIRST"), std::pair("uniform:9:3", "last length is 3"),
        std::pair("uniform:1:1e12", "number of lengths"), std::pair("uniform:0:3", "must be a whole number"),
        std::pair("geometric:0.5", "mean is 0.5"), std::pair("geometric:1e9", "mean is"),
        std::pair("0.5=1", "at least 1"), std::pair("10=nan", "'nan'")}) {
    EXPECT_NE(message_of(text).find(part), std::string::npos) << text << ": " << message_of(text);
  }
  EXPECT_NE(message_of("2.5=0.5,3=0.5").find("must be whole and finite"), std::string::npos);
  EXPECT_NE(message_of("3=0.5,inf=0.5").find("must be whole and finite"), std::string::npos);
  EXPECT_NE(message_of("uniform:1:9,3=0.5,4=0.5").find("stand alone"), std::string::npos);
  EXPECT_NE(message_of("2.5=0.5,3=0.5", io::LengthKind::kWhole).find("whole"), std::string::npos);
  EXPECT_THROW(LengthLaw({10, 20}, {1}), InputError);
  EXPECT_THROW(LengthLaw(std::vector<double>{}, {}), InputError);
  EXPECT_THROW(LengthLaw(0.5), InputError);
}

}  // namespace
}  // namespace largo::length_law_test
