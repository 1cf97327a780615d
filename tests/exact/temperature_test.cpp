#include "largo/exact/temperature.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <boost/math/quadrature/exp_sinh.hpp>
#include <boost/math/special_functions/expint.hpp>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <numbers>
#include <random>
#include <string>
#include <vector>

#include "largo/exact/softmax_moments.hpp"
#include "largo/measures/empirical.hpp"
#include "largo/measures/named_law.hpp"
#include "largo/runtime/check.hpp"

namespace largo::temperature_test {
namespace {

double beta_of(const std::string& text, double L) { return TemperatureLaw("--beta", text)(L); }

std::string refusal(const auto& work) {
  try {
    work();
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

TEST(TemperatureLaw, Names) {
  for (const double L : {1.0, 10.0, 4096.0, 1e6, 1e300}) {
    const double l = std::log(L);
    EXPECT_EQ(beta_of("constant", L), 1);
    EXPECT_DOUBLE_EQ(beta_of("sqrt-log", L), std::sqrt(l));
    EXPECT_DOUBLE_EQ(beta_of("log", L), l);
    EXPECT_DOUBLE_EQ(beta_of("log-squared", L), l * l);
    EXPECT_DOUBLE_EQ(beta_of(" 0.43 * log ", L), 0.43 * l);
    EXPECT_DOUBLE_EQ(beta_of("1+0.1*ln(max(1,L/4096))", L), 1 + 0.1 * std::max(0.0, std::log(L / 4096)));
  }
  EXPECT_EQ(TemperatureLaw("--beta", " 2*log ").name(), "2*log");
  EXPECT_EQ(default_temperature_laws().size(), 4);
}

// The factors that queries and keys are multiplied by, at 4 and 32 times the length in training: 1.1386 and
// 1.3466 (YaRN), √(1 + ln 4/ln 4096) = 1.0801 and √(1 + ln 32/ln 4096) = 1.1902 (LongRoPE).
TEST(TemperatureLaw, LawsOfTrainedLengthsAreSquaresOfTheFactorsOnQueriesAndKeys) {
  EXPECT_NEAR(beta_of("yarn:4096", 4 * 4096), 1.13863 * 1.13863, 1e-4);
  EXPECT_NEAR(beta_of("yarn:4096", 32 * 4096), 1.34657 * 1.34657, 1e-4);
  EXPECT_NEAR(beta_of("longrope:4096", 4 * 4096), 1.08012 * 1.08012, 1e-4);
  EXPECT_NEAR(beta_of("longrope:4096", 32 * 4096), 1.19024 * 1.19024, 1e-4);
  for (const char* law : {"yarn:4096", "longrope:4096"}) {
    EXPECT_EQ(beta_of(law, 4096), 1) << law;
    EXPECT_EQ(beta_of(law, 10), 1) << law;
  }
  EXPECT_NEAR(beta_of("0.5*yarn:100", 1e4), 0.5 * std::pow(1 + 0.1 * std::log(100), 2), 1e-14);
}

TEST(TemperatureLaw, Tables) {
  const std::string file = std::filesystem::temp_directory_path() / "largo-temperature-test.csv";
  const auto write = [&](const char* text) { std::ofstream(file) << text; };
  write("L,beta\n10,1\n1000,3\n1e5,3.5\n");
  const TemperatureLaw law("--beta", file);
  EXPECT_EQ(law.file(), file);
  EXPECT_EQ(law(10), 1);
  EXPECT_NEAR(law(100), 2, 1e-14);
  EXPECT_EQ(law(1000), 3);
  EXPECT_NEAR(law(1e4), 3.25, 1e-14);
  EXPECT_EQ(law(1e5), 3.5);
  EXPECT_NEAR(beta_of("2*" + file, 100), 4, 1e-14);
  EXPECT_NE(refusal([&] { law(9); }).find("between 10 and 100000"), std::string::npos);
  EXPECT_THROW(law(1.1e5), InputError);
  for (const char* bad :
       {"1,2,3\n", "1\n", "10,1\n5,2\n", "10,1\n10,2\n", "0.5,1\n", "10,-1\n", "10,x\n", ""}) {
    write(bad);
    EXPECT_NE(refusal([&] { TemperatureLaw("--beta", file); }), "") << bad;
  }
  std::filesystem::remove(file);
  EXPECT_THROW(TemperatureLaw("--beta", file), InputError);
}

TEST(TemperatureLaw, BadInput) {
  for (const char* text :
       {"",         " ",        "cnstant",    "yarn",        "yarn:",      "yarn:1", "yarn:0", "yarn:-5",
        "yarn:nan", "yarn:inf", "longrope:x", "longropes:4", "log*2",      "x*log",  "*log",   "2*",
        "2**log",   "l",        "log\n",      "none.csv",    "2*none.csv", "1,2",    "log(",   "sqrtlog"}) {
    EXPECT_NE(refusal([&] { TemperatureLaw("--beta", text); }).find("--beta") == std::string::npos &&
                  refusal([&] { TemperatureLaw("--beta", text); }).find("none.csv") == std::string::npos,
              true)
        << text << ": " << refusal([&] { TemperatureLaw("--beta", text); });
  }
  EXPECT_THROW(beta_of("1-L", 10), InputError);
  EXPECT_THROW(beta_of("ln(L-20)", 10), InputError);
  EXPECT_THROW(beta_of("1/(L-10)", 10), InputError);
}

CrowdedPrompt random_prompt(std::mt19937_64& random, bool with_needle) {
  std::uniform_real_distribution<double> uniform(0, 1);
  const char* const laws[] = {"sphere", "ball", "rademacher", "elliptical:low=0,high=2",
                              "gaussian:cov=toeplitz:0.5"};
  CrowdedPrompt prompt;
  if (random() % 2 == 0) {
    prompt = normal_crowd(0.1 + 3 * uniform(random));
  } else {
    const std::ptrdiff_t d = 2 + static_cast<std::ptrdiff_t>(random() % 6);
    prompt.crowd = named_law(laws[random() % 5], d);
    prompt.direction = Vector::NullaryExpr(d, [&] { return 2 * uniform(random) - 1; });
  }
  if (with_needle) prompt.needle = TokenClass{1, 1 + 9 * uniform(random), 0};
  for (std::uint64_t i = random() % 3; i > 0; --i) {
    prompt.planted.push_back({std::round(1 + 20 * uniform(random)), 4 * uniform(random) - 1,
                              random() % 2 == 0 ? 0 : uniform(random)});
  }
  return prompt;
}

// The target is the value at a random factor, so it can be reached; the factor found may be a smaller one.
TEST(InverseTemperature, RandomTargets) {
  const int count = std::getenv("LARGO_LONG_TESTS") != nullptr ? 1000 : 24;
  std::mt19937_64 random(11);
  std::uniform_real_distribution<double> uniform(0, 1);
  double worst = 0;
  for (int i = 0; i < count; ++i) {
    const auto statistic = static_cast<WeightStatistic>(i % 3);
    const CrowdedPrompt prompt = random_prompt(random, statistic == WeightStatistic::needle_weight);
    const double L = std::pow(10, (i % 10 == 9 ? 300 : 12) * uniform(random)) * 2;
    const double beta = 3 * uniform(random);
    const double target = value_of(statistic, crowd_weights(prompt, std::min(L, 1e300), beta)).value;
    const bool needle = statistic == WeightStatistic::needle_weight;
    if (target < 1e-250 || (needle && target > 1 - 1e-9)) continue;
    const Temperature found = temperature_for(prompt, std::min(L, 1e300), statistic, target);
    const double residual = std::abs(value_of(statistic, found.weights).value / target - 1);
    EXPECT_LE(residual, 1e-10) << i << ": L = " << L << ", beta = " << beta;
    worst = std::max(worst, residual);
    // The needle's weight may have been at the target before; the others fall all the way.
    if (needle) {
      EXPECT_LE(found.beta, beta * (1 + 1e-6)) << i;
    } else if (target > 1e-9 && std::abs(target - 1) > 1e-6) {
      EXPECT_NEAR(found.beta, beta, 1e-3 * beta + 1e-5) << i;
    }
  }
  RecordProperty("worst_residual", std::to_string(worst));
  std::printf("largest residual of %d targets: %.1e\n", count, worst);
}

TEST(InverseTemperature, NeedleGivesTheSmallestFactor) {
  // The needle's weight rises, and falls again once the largest of the crowd is above it.
  CrowdedPrompt prompt = normal_crowd(1);
  prompt.needle = TokenClass{1, 4.5, 0};
  const double L = 1e4;
  double most = 0, at = 0;
  for (double beta = 0.01; beta < 20; beta *= 1.02) {
    const double here = crowd_weights(prompt, L, beta).needle.value;
    if (here > most) most = here, at = beta;
  }
  const Temperature found = temperature_for(prompt, L, WeightStatistic::needle_weight, 0.99 * most);
  EXPECT_LT(found.beta, at);
  for (double beta = 0.01; beta < found.beta * (1 - 1e-9); beta *= 1.02)
    EXPECT_LT(crowd_weights(prompt, L, beta).needle.value, 0.99 * most) << beta;
  // Between the largest value on the way and the extreme itself, the extreme decides.
  EXPECT_NEAR(temperature_for(prompt, L, WeightStatistic::needle_weight, most).beta / at, 1, 0.05);
  const std::string why =
      refusal([&] { temperature_for(prompt, L, WeightStatistic::needle_weight, 1.02 * most); });
  EXPECT_NE(why.find("out of reach"), std::string::npos) << why;
  EXPECT_NE(why.find("at most"), std::string::npos) << why;
  EXPECT_NE(why.find("the largest one in the crowd about 4.29"), std::string::npos) << why;
  // From above: a needle of a small score loses its weight.
  prompt.needle = TokenClass{1, -2, 0};
  const Temperature less = temperature_for(prompt, L, WeightStatistic::needle_weight, 1e-6);
  EXPECT_NEAR(less.weights.needle.value / 1e-6, 1, 1e-10);
}

TEST(InverseTemperature, InfeasibleTargetsSayWhy) {
  const CrowdedPrompt crowd = normal_crowd(1);
  const auto why = [&](const CrowdedPrompt& prompt, double L, WeightStatistic statistic, double target) {
    return refusal([&] { temperature_for(prompt, L, statistic, target); });
  };
  EXPECT_NE(why(crowd, 100, WeightStatistic::effective_tokens, 101).find("between 1 and 100"),
            std::string::npos);
  EXPECT_NE(why(crowd, 100, WeightStatistic::effective_tokens, 0.9).find("between 1 and 100"),
            std::string::npos);
  EXPECT_NE(why(crowd, 100, WeightStatistic::entropy, 5).find("4.605"), std::string::npos);
  EXPECT_NE(why(crowd, 1, WeightStatistic::entropy, 0.1).find("one token"), std::string::npos);
  EXPECT_NE(why(crowd, 100, WeightStatistic::needle_weight, 0.5).find("needs a needle"), std::string::npos);
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  for (const auto statistic : {WeightStatistic::effective_tokens, WeightStatistic::entropy}) {
    EXPECT_NE(why(crowd, 100, statistic, kNan), "");
    EXPECT_NE(why(crowd, 100, statistic, -1), "");
  }
  // Two equal sinks above a bounded crowd: at least two effective tokens remain.
  CrowdedPrompt sinks{.crowd = named_law("sphere", 3), .direction = Vector::Unit(3, 0)};
  sinks.planted = {{2, 2, 0}};
  EXPECT_NE(why(sinks, 100, WeightStatistic::effective_tokens, 1.9).find("at least 2"), std::string::npos)
      << why(sinks, 100, WeightStatistic::effective_tokens, 1.9);
  EXPECT_NEAR(
      temperature_for(sinks, 100, WeightStatistic::effective_tokens, 2.1).weights.effective_tokens.value, 2.1,
      1e-9);
  // No scores at all.
  const CrowdedPrompt equal{.crowd = named_law("sphere", 3), .direction = Vector::Zero(3)};
  EXPECT_NE(why(equal, 100, WeightStatistic::effective_tokens, 50).find("all scores are equal"),
            std::string::npos);
  EXPECT_EQ(temperature_for(equal, 100, WeightStatistic::effective_tokens, 100).beta, 0);
}

// The last factor within the limits of a law that is not Gaussian is tried, too.
TEST(InverseTemperature, ReachesTheLimitsOfALaw) {
  const CrowdedPrompt sphere{.crowd = named_law("sphere", 3), .direction = Vector::Unit(3, 0)};
  const double largest = 30 * std::sqrt(3.0) * 0.999;
  const double target = crowd_weights(sphere, 1e6, largest).effective_tokens.value;
  EXPECT_NEAR(temperature_for(sphere, 1e6, WeightStatistic::effective_tokens, target).beta, largest, 1e-6);
}

TEST(TemperatureRows, SameBitsForAnyNumberOfThreads) {
  CrowdedPrompt prompt = normal_crowd(1);
  prompt.needle = TokenClass{1, 8, 0};
  const std::vector<double> lengths = {10, 1e3, 1e6, 1e12};
  const Matrix V = Matrix::Identity(1, 1);
  const auto at = [&](int threads) {
    return temperature_rows(prompt, V, lengths, default_temperature_laws(), {.threads = threads});
  };
  const std::vector<TemperatureRow> one = at(1), three = at(3);
  ASSERT_EQ(one.size(), 16);
  for (std::size_t i = 0; i < one.size(); ++i) {
    EXPECT_EQ(one[i].law, three[i].law);
    EXPECT_EQ(one[i].L, three[i].L);
    EXPECT_EQ(one[i].at.weights.entropy.value, three[i].at.weights.entropy.value);
    EXPECT_EQ(one[i].at.weights.needle.value, three[i].at.weights.needle.value);
  }
  // Of several targets out of reach the first is named.
  for (const int threads : {1, 3}) {
    const std::string why = refusal([&] {
      target_rows(prompt, V, lengths, WeightStatistic::effective_tokens, {5, 1e4, 1e9, 5},
                  {.threads = threads});
    });
    EXPECT_NE(why.find("L = 1000"), std::string::npos) << why;
  }
}

TEST(TemperatureRows, OutputErrorIsThatOfTheCrowdAlone) {
  const Matrix V = Matrix::Identity(1, 1);
  const auto rows = temperature_rows(normal_crowd(2), V, {100}, {TemperatureLaw("beta", "0.5")});
  ASSERT_TRUE(rows[0].output_error);
  EXPECT_NEAR(rows[0].output_error->value / softmax_moments(1, 100).mse.value, 1, 1e-12);
  CrowdedPrompt planted = normal_crowd(2);
  planted.planted = {{1, 3, 0}};
  EXPECT_FALSE(temperature_rows(planted, V, {100}, {TemperatureLaw("beta", "0.5")})[0].output_error);
}

// How fast an infinite crowd of normal scores disperses along β = x √(2 ln L)/s: what is compared is the
// slope of ln(effective tokens) in ln L, between 1e294 and 1e300. Within (1/√3, 1) the law has a factor
// 1/√(ln L) beside the power (docs/temperature.md), whose slope is taken off.
TEST(CriticalScale, ExponentsOfNormalScores) {
  const double s = 1.7, low = std::log(1e294), high = std::log(1e300);
  const auto P2 = [&](double log_L, double x) {
    const double L = std::exp(log_L);
    return crowd_weights(normal_crowd(s), L, x * std::sqrt(2 * log_L) / s).P2.value;
  };
  const auto slope = [&](double x) { return std::log(P2(low, x) / P2(high, x)) / (high - low); };
  for (const double x : {0.1, 0.3, 0.5}) EXPECT_NEAR(slope(x) / (1 - 2 * x * x), 1, 1e-9) << x;
  for (const double x : {0.65, 0.7, 0.75, 0.8, 0.85, 0.9}) {
    const double kappa = std::pow(1 / x - x, 2) / 4, lambda = (1 / (x * x) + 1) / 2;
    EXPECT_NEAR((slope(x) - 1 / (low + high)) / kappa, 1, 0.01) << x;
    // And with its constant.
    const double sharp = std::exp(-kappa * high) * std::tgamma(2 - lambda) * std::tgamma(lambda) /
                         (x * std::sqrt(4 * std::numbers::pi * high));
    EXPECT_NEAR(P2(high, x) / sharp, 1, 0.03) << x;
  }
  for (const double x : {1.1, 1.25, 1.5, 2.0, 4.0}) {
    EXPECT_NEAR(slope(x), 0, 1e-3) << x;
    EXPECT_NEAR(P2(high, x) / (1 - 1 / x), 1, 0.1) << x;
  }
}

// The tokens of a sphere of R^d that are nearest to the query, at a factor β on scores <q, z>, as a law of
// the gap w = β - score: weights and nodes of a quadrature in √w up to `reach`, and the rest at `reach`. The
// density of w is c (w (2 - w/β))^{(d-3)/2}/β^{(d-1)/2}.
CrowdedPrompt nearest_on_sphere(double d, double log_beta, double reach) {
  std::vector<double> gaps, weights;
  const double a = (d - 1) / 2;
  const double log_c = std::lgamma(d / 2) - std::lgamma(a) - std::log(std::numbers::pi) / 2;
  const double inverse = std::exp(-log_beta), end = std::sqrt(std::min(reach, 2 / inverse));
  double all = 0;
  for (double r = 0; r < end;) {
    // Four Gauss points resolve e^{-t e^u} on pieces of u of 0.6 to 1e-7.
    const double width = std::min({0.2, 0.3 / std::max(r, 0.1), end - r});
    for (const auto& [at, share] : {std::pair{0.06943184420297371, 0.17392742256872693},
                                    {0.33000947820757187, 0.32607257743127307},
                                    {0.66999052179242813, 0.32607257743127307},
                                    {0.93056815579702629, 0.17392742256872693}}) {
      const double here = r + at * width, w = here * here;
      const double log_density = log_c - a * log_beta + (d - 2) * std::log(here) +
                                 (a - 1) * std::log(2 - w * inverse) + std::numbers::ln2;
      gaps.push_back(-w);
      weights.push_back(share * width * std::exp(log_density));
      all += weights.back();
    }
    r += width;
  }
  gaps.push_back(-reach);
  weights.push_back(std::max(0.0, 1 - all));
  RowMatrix tokens(std::ssize(gaps), 1);
  for (std::ptrdiff_t i = 0; i < tokens.rows(); ++i) tokens(i, 0) = gaps[static_cast<std::size_t>(i)];
  return {.crowd = std::make_shared<EmpiricalMeasure>(
              tokens, Vector(Eigen::Map<const Vector>(weights.data(), std::ssize(weights)))),
          .direction = Vector::Ones(1)};
}

// The helper above against the law of the library, where it has one.
TEST(CriticalScale, NearestTokensAreThoseOfTheSphere) {
  for (const int d : {3, 4, 6}) {
    const CrowdedPrompt sphere{.crowd = named_law("sphere", d), .direction = Vector::Unit(d, 0)};
    const double beta = 40;
    for (const double L : {10.0, 1e4}) {
      const double known = crowd_weights(sphere, L, beta).P2.value;
      EXPECT_NEAR(crowd_weights(nearest_on_sphere(d, std::log(beta), 80), L).P2.value / known, 1, 1e-6)
          << d << L;
    }
  }
}

// Tokens on a sphere condense at β ~ n^{2/(d-1)}: along β = n^{γ 2/(d-1)} the effective tokens grow like
// n^{1-γ} below, γ < 1, and stay near one above. The local slopes are taken between 1e294 and 1e300 tokens.
TEST(CriticalScale, ExponentsOnTheSphere) {
  const double low = std::log(1e294), high = std::log(1e300);
  for (const double d : {2.0, 3.0, 8.0, 24.0}) {
    const auto tokens = [&](double log_L, double log_beta) {
      // The nearest token's gap is at most so large, but for a probability e^-30; smaller scores than those
      // of all others together, e^-30 of it, do not count.
      const double log_rho = log_L + std::lgamma(d / 2) - std::lgamma((d + 1) / 2) -
                             std::log(4 * std::numbers::pi) / 2 +
                             (d - 1) / 2 * (std::numbers::ln2 - log_beta);
      const double nearest = std::exp((std::log(30) - log_rho) * 2 / (d - 1));
      return crowd_weights(nearest_on_sphere(d, log_beta, nearest + log_L + 30), std::exp(log_L))
          .effective_tokens.value;
    };
    for (const double gamma : {0.5, 0.9}) {
      if (gamma == 0.9 && d != 3) continue;
      const double scale = gamma * 2 / (d - 1);
      const double slope = std::log(tokens(high, scale * high) / tokens(low, scale * low)) / (high - low);
      EXPECT_NEAR(slope / (1 - gamma), 1, 0.01) << d << ' ' << gamma;
    }
    if (d != 3 && d != 8) continue;  // the gaps of the nearest tokens are out of range, or take long
    // At the scale itself a few tokens share the weight, and a larger factor leaves one.
    const double at = 2 / (d - 1) * high;
    EXPECT_GT(tokens(high, at), 1.05) << d;
    EXPECT_LT(tokens(high, at + std::log(5)), 3) << d;
    // On the sphere of R^3: E[P_2] = ρ ∫ (1 - (1+t) e^-t)/t e^{-ρ Ein(t)} dt with ρ = n/(2β).
    if (d == 3) {
      boost::math::quadrature::exp_sinh<double> rule;
      for (const double rho : {0.1, 0.5, 3.0}) {
        const double P2 = rho * rule.integrate([&](double t) {
          const double ein = t < 1e-4 ? t : std::numbers::egamma + std::log(t) + boost::math::expint(1, t);
          return (t < 1e-4 ? t / 2 : (1 - (1 + t) * std::exp(-t)) / t) * std::exp(-rho * ein);
        });
        EXPECT_NEAR(1 / tokens(high, high - std::log(2 * rho)) / P2, 1, 1e-6) << rho;
      }
    }
  }
}

// What the laws are for: β ~ √(ln L) keeps a number of tokens, √(2 ln L)/(1 - 1/k)/s keeps k of them in the
// limit; β ~ ln L/b keeps a needle that grows out of reach of a bounded crowd.
TEST(TemperatureGrowth, IsReadOff) {
  const Matrix V = Matrix::Identity(1, 1);
  const auto growth = [&](const CrowdedPrompt& prompt, WeightStatistic statistic, double target) {
    const auto rows = target_rows(prompt, V, {1e280, 1e300}, statistic, {target, target});
    return *temperature_growth(rows[0], rows[1]);
  };
  const TemperatureGrowth tokens = growth(normal_crowd(1.3), WeightStatistic::effective_tokens, 4);
  EXPECT_NEAR(tokens.power_of_log, 0.5, 0.01);
  EXPECT_LT(tokens.power, 1e-3);
  CrowdedPrompt needle = normal_crowd(0.1);
  needle.needle = TokenClass{1, 50, 0};
  EXPECT_NEAR(growth(needle, WeightStatistic::needle_weight, 0.5).power_of_log, 1, 0.01);

  const auto rows =
      target_rows(normal_crowd(1), V, {1, 10, 100}, WeightStatistic::effective_tokens, {1, 10, 50});
  EXPECT_EQ(rows[1].at.beta, 0);
  EXPECT_FALSE(temperature_growth(rows[0], rows[2]));
  EXPECT_FALSE(temperature_growth(rows[1], rows[2]));
  EXPECT_FALSE(temperature_growth(rows[2], rows[2]));
}

}  // namespace
}  // namespace largo::temperature_test
