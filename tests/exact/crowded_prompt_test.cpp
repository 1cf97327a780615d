#include "largo/exact/crowded_prompt.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <boost/math/quadrature/tanh_sinh.hpp>
#include <cmath>
#include <functional>
#include <limits>
#include <numbers>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "exact/token_classes_oracle.hpp"
#include "largo/exact/score_law_error.hpp"
#include "largo/exact/softmax_moments.hpp"
#include "largo/measures/empirical.hpp"
#include "largo/measures/named_law.hpp"
#include "largo/runtime/check.hpp"

namespace largo::crowded_prompt_test {
namespace {

struct Numbers {
  double crowd = 0, needle = 0, planted = 0, P2 = 0, entropy = 0, log_partition = 0;  // planted: all together
};
struct Named {
  const char* name;
  double Numbers::*value;
};
constexpr Named kNumbers[] = {{"crowd", &Numbers::crowd},     {"needle", &Numbers::needle},
                              {"planted", &Numbers::planted}, {"P2", &Numbers::P2},
                              {"entropy", &Numbers::entropy}, {"log-partition", &Numbers::log_partition}};

// The statistics of one prompt with these scores: `crowd` of them first, then a needle if there is one.
Numbers of_prompt(const std::vector<double>& x, std::size_t crowd, bool needle) {
  const double top = *std::max_element(x.begin(), x.end());
  double S = 0, mean = 0;
  for (const double one : x) S += std::exp(one - top);
  Numbers n;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double p = std::exp(x[i] - top) / S;
    (i < crowd ? n.crowd : needle && i == crowd ? n.needle : n.planted) += p;
    n.P2 += p * p;
    mean += p * x[i];
  }
  n.log_partition = top + std::log(S);
  n.entropy = n.log_partition - mean;
  return n;
}

Numbers exact(const CrowdedPrompt& prompt, double L, double beta) {
  const CrowdWeights w = crowd_weights(prompt, L, beta);
  double planted = 0, all = w.crowd.value + w.needle.value;
  for (const Estimate& one : w.planted) planted += one.value;
  EXPECT_NEAR(all + planted, 1, 1e-11);
  EXPECT_NEAR(w.effective_tokens.value * w.P2.value, 1, 1e-14);
  return {w.crowd.value, w.needle.value, planted, w.P2.value, w.entropy.value, w.log_partition.value};
}

CrowdedPrompt crowd_of(const std::string& law, std::ptrdiff_t d, const Vector& direction) {
  return {.crowd = named_law(law, d), .direction = direction};
}

CrowdedPrompt with(CrowdedPrompt prompt, std::optional<TokenClass> needle, std::vector<TokenClass> planted) {
  prompt.needle = needle;
  prompt.planted = std::move(planted);
  return prompt;
}

Vector vector_of(std::initializer_list<double> values) {
  Vector v(std::ssize(values));
  std::copy(values.begin(), values.end(), v.begin());
  return v;
}

// A mixture, and the tokens of a file, as laws.
MeasurePtr tokens_law(const std::vector<double>& scores, const std::vector<double>& weights) {
  RowMatrix tokens(std::ssize(scores), 1);
  Vector w(std::ssize(scores));
  for (std::ptrdiff_t i = 0; i < tokens.rows(); ++i) {
    tokens(i, 0) = scores[static_cast<std::size_t>(i)];
    w[i] = weights[static_cast<std::size_t>(i)];
  }
  return std::make_shared<EmpiricalMeasure>(tokens, w);
}

struct Setting {
  std::string name;
  CrowdedPrompt prompt;
  double L, beta;
};

std::vector<Setting> settings() {
  const Vector a3 = vector_of({1, -0.5, 1});
  std::vector<Setting> all;
  const auto add = [&](std::string name, CrowdedPrompt prompt, double L, double beta) {
    all.push_back({std::move(name), std::move(prompt), L, beta});
  };
  const TokenClass needle{1, 4, 0}, sink{1, 3, 0}, window{16, 1, 0.5};
  for (const double L : {1.0, 2.0, 30.0, 1000.0, 10000.0}) {
    add("gaussian", normal_crowd(1.5), L, 1);
    add("gaussian, all", with(normal_crowd(1), needle, {sink, window}), L, 1.3);
    add("sphere", crowd_of("sphere", 3, a3), L, 3);
    add("sphere, needle", with(crowd_of("sphere", 3, a3), needle, {}), L, 0.5);
    add("sphere, all", with(crowd_of("sphere:radius=2", 3, a3), needle, {sink, window}), L, 1);
    add("ball", with(crowd_of("ball", 3, a3), std::nullopt, {sink}), L, 2);
    add("rademacher", with(crowd_of("rademacher", 3, a3), needle, {window}), L, 1);
    add("elliptical", with(crowd_of("elliptical:low=0,high=2", 3, a3), needle, {}), L, 0.3);
    // Scaled far up: the rule over the radii must be that of the scaled scores.
    add("elliptical, scaled", crowd_of("elliptical:low=0,high=2", 3, 1e-3 * a3), L, 2e3);
    add("elliptical sphere", crowd_of("elliptical:base=sphere,low=0,high=1", 3, a3), L, 1.5);
    add("atoms",
        with({.crowd = tokens_law({0, 1, 5}, {0.5, 0.49, 0.01}), .direction = vector_of({1})}, needle,
             {window}),
        L, 1);
  }
  return all;
}

// False alarms 6e-5 for each of the 330 comparisons at 4 standard errors.
TEST(CrowdedPrompt, AgreesWithSimulation) {
  std::mt19937_64 random(5);
  std::normal_distribution<double> normal;
  double worst = 0;
  std::uint64_t seed = 100;
  for (const Setting& setting : settings()) {
    const auto& [name, prompt, L, beta] = setting;
    const int prompts = L > 5000 ? 100 : L > 500 ? 500 : 3000;
    const auto count = static_cast<std::ptrdiff_t>(L);
    std::vector<double> x;
    std::vector<Numbers> all;
    ++seed;
    for (int k = 0; k < prompts; ++k) {
      const RowMatrix tokens =
          sample_prompt(*prompt.crowd, Stream(seed, static_cast<std::uint64_t>(k)), count, {.threads = 1});
      x.clear();
      for (std::ptrdiff_t i = 0; i < count; ++i) x.push_back(beta * tokens.row(i).dot(prompt.direction));
      if (prompt.needle) x.push_back(beta * prompt.needle->shift);
      for (const TokenClass& one : prompt.planted) {
        for (int i = 0; i < static_cast<int>(one.count); ++i)
          x.push_back(beta * (one.shift + one.spread * normal(random)));
      }
      all.push_back(of_prompt(x, static_cast<std::size_t>(count), prompt.needle.has_value()));
    }
    const Numbers truth = exact(prompt, L, beta);
    for (const auto& [label, number] : kNumbers) {
      double mean = 0, square = 0;
      for (const Numbers& one : all) mean += one.*number / prompts;
      for (const Numbers& one : all) square += std::pow(one.*number - mean, 2) / prompts;
      const double error = std::sqrt(square / prompts) + 1e-12 * (1 + std::abs(mean));
      EXPECT_LE(std::abs(mean - truth.*number), 4 * error) << name << ", L = " << L << ": " << label;
      worst = std::max(worst, std::abs(mean - truth.*number) / error);
    }
  }
  EXPECT_GT(worst, 2) << "the standard errors are too large to find anything";
}

// Over a crowd of few values, a prompt is a count of each: all counts, with their probabilities.
Numbers enumerated(const std::vector<double>& scores, const std::vector<double>& weights, int L,
                   const std::vector<double>& others, bool needle) {
  Numbers sum;
  std::vector<double> x;
  const std::function<void(std::size_t, int, double)> count = [&](std::size_t value, int left, double log_p) {
    if (value + 1 == scores.size()) {
      for (int i = 0; i < left; ++i) x.push_back(scores[value]);
      const double p = std::exp(log_p + left * std::log(weights[value]) - std::lgamma(left + 1));
      std::vector<double> all = x;
      all.insert(all.end(), others.begin(), others.end());
      const Numbers one = of_prompt(all, static_cast<std::size_t>(L), needle);
      for (const Named& number : kNumbers) sum.*number.value += p * one.*number.value;
      x.resize(x.size() - static_cast<std::size_t>(left));
      return;
    }
    for (int n = 0; n <= left; ++n) {
      count(value + 1, left - n, log_p + n * std::log(weights[value]) - std::lgamma(n + 1));
      x.push_back(scores[value]);
    }
    x.resize(x.size() - static_cast<std::size_t>(left) - 1);
  };
  count(0, L, std::lgamma(L + 1));
  return sum;
}

TEST(CrowdedPrompt, AgreesWithEnumeration) {
  struct Case {
    std::vector<double> scores, weights;
    int L;
    double beta;
    std::optional<double> needle;
    std::vector<double> sinks;
  };
  const std::vector<Case> cases = {
      {{0, 1}, {0.5, 0.5}, 1, 1, {}, {}},
      {{0, 1}, {0.5, 0.5}, 2, 3, {}, {}},
      {{-1, 1}, {0.5, 0.5}, 40, 0.7, 2.0, {}},
      {{0, 2, 7}, {0.7, 0.299, 0.001}, 12, 1, 4.0, {1, 3}},
      {{0, 2, 7}, {0.7, 0.299, 0.001}, 12, 5, {}, {35}},
      {{-30, 0, 30}, {0.2, 0.5, 0.3}, 5, 2, 10.0, {-20}},
      {{0, 1000}, {0.9, 0.1}, 3, 1, 500.0, {}},
      {{0, 5}, {1 - 1e-9, 1e-9}, 20, 4, {}, {3}},
  };
  for (const Case& c : cases) {
    CrowdedPrompt prompt{.crowd = tokens_law(c.scores, c.weights), .direction = vector_of({1})};
    std::vector<double> scores, others;
    for (const double score : c.scores) scores.push_back(c.beta * score);
    if (c.needle) {
      prompt.needle = TokenClass{1, *c.needle, 0};
      others.push_back(c.beta * *c.needle);
    }
    for (const double sink : c.sinks) {
      prompt.planted.push_back({1, sink, 0});
      others.push_back(c.beta * sink);
    }
    const Numbers found = exact(prompt, c.L, c.beta),
                  truth = enumerated(scores, c.weights, c.L, others, c.needle.has_value());
    for (const auto& [label, number] : kNumbers) {
      const double size = number == &Numbers::log_partition ? 1 + std::abs(truth.*number) : truth.*number;
      // The enumerated entropy is a difference, with an error of rounding.
      const double rounding = number == &Numbers::entropy ? 1e-15 * std::abs(scores.back()) * 10 : 0;
      EXPECT_NEAR(found.*number, truth.*number, 1e-12 * size + rounding) << c.L << " tokens: " << label;
    }
    const CrowdWeights w = crowd_weights(prompt, c.L, c.beta);
    EXPECT_LE(std::abs(w.P2.value - truth.P2), w.P2.error + 1e-14 * truth.P2) << c.L;
    EXPECT_LE(w.P2.error, 1e-11 * truth.P2) << c.L;
    EXPECT_LE(std::abs(w.log_partition.value - truth.log_partition),
              w.log_partition.error + 1e-14 * (1 + std::abs(truth.log_partition)))
        << c.L;
  }
}

// Gaussian crowds, in extended precision.
TEST(CrowdedPrompt, GaussianCrowdsAgreeWithTheReference) {
  std::mt19937_64 random(3);
  std::uniform_real_distribution<double> uniform(0, 1);
  for (int i = 0; i < 12; ++i) {
    const double s = 3 * uniform(random), beta = 2 * uniform(random),
                 L = std::round(std::pow(10, 12 * uniform(random)));
    CrowdedPrompt prompt = normal_crowd(s);
    prompt.needle = TokenClass{1, 10 * uniform(random), 0};
    if (i % 2 == 0) prompt.planted = {{1, 5 * uniform(random), 0}, {50, uniform(random), uniform(random)}};
    std::vector<TokenClass> classes = prompt.planted;
    classes.push_back(*prompt.needle);
    classes.push_back({L, 0, s});
    for (TokenClass& one : classes) {
      one.shift *= beta;
      one.spread *= beta;
    }
    const oracle::ClassReference truth = oracle::class_reference(classes);
    const CrowdWeights found = crowd_weights(prompt, L, beta);
    const auto near = [&](const Estimate& one, oracle::Long other) {
      EXPECT_NEAR(one.value / static_cast<double>(other), 1, 1e-10) << s << ' ' << L << ' ' << beta;
    };
    near(found.needle, truth.weights[classes.size() - 2]);
    near(found.crowd, truth.weights.back());
    near(found.P2, truth.P2);
    near(found.entropy, truth.entropy);
    for (std::size_t c = 0; c < prompt.planted.size(); ++c) near(found.planted[c], truth.weights[c]);
    EXPECT_NEAR(found.log_partition.value, static_cast<double>(truth.log_partition), 1e-10);
  }
}

// One token and a sink: averages over one score, by another quadrature. L = 1 once gave a NaN, where φ is
// below the smallest normal number.
TEST(CrowdedPrompt, OneTokenAndASink) {
  boost::math::quadrature::tanh_sinh<double> rule;
  for (const int d : {3, 4, 9}) {
    for (const double beta : {0.1, 1.0, 7.0, 30.0}) {
      for (const double b : {-2.0, 0.5, 1.0}) {
        const CrowdedPrompt prompt =
            with(crowd_of("sphere", d, Vector::Unit(d, 0)), std::nullopt, {{1, b, 0}});
        const auto mean = [&](const auto& f) {
          const auto weight = [&](double v) { return std::pow(1 - v * v, (d - 3) / 2.0); };
          return rule.integrate([&](double v) { return weight(v) * f(beta * v); }, -1.0, 1.0) /
                 rule.integrate(weight, -1.0, 1.0);
        };
        const auto number = [&](double Numbers::*which) {
          return mean([&](double u) { return of_prompt({u, beta * b}, 1, false).*which; });
        };
        const Numbers found = exact(prompt, 1, beta);
        for (const auto& [label, which] : kNumbers) {
          EXPECT_NEAR(found.*which, number(which), 1e-12 * (1 + std::abs(found.*which)))
              << d << ' ' << beta << ' ' << b << ' ' << label;
        }
      }
    }
  }
  for (double beta = 0.1; beta < 40; beta *= 1.13) {
    const Numbers alone = exact(crowd_of("sphere", 5, Vector::Unit(5, 0)), 1, beta);
    EXPECT_NEAR(alone.P2, 1, 1e-12) << beta;
    EXPECT_NEAR(alone.entropy, 0, 1e-12) << beta;
    EXPECT_NEAR(alone.log_partition, 0, 1e-12 * (1 + beta)) << beta;
  }
}

TEST(CrowdedPrompt, AtZeroTemperatureFactorAllTokensAreEqual) {
  for (const char* law : {"gaussian", "sphere", "rademacher", "elliptical:low=0,high=2"}) {
    const CrowdedPrompt crowd = crowd_of(law, 3, vector_of({1, 2, 0}));
    const CrowdedPrompt prompt = with(crowd, TokenClass{1, 8, 0}, {{5, -3, 2}});
    for (const double L : {1.0, 100.0, 1e12}) {
      const Numbers found = exact(prompt, L, 0);
      EXPECT_NEAR(found.needle * (L + 6), 1, 1e-12) << law << L;
      EXPECT_NEAR(found.P2 * (L + 6), 1, 1e-12) << law << L;
      EXPECT_NEAR(found.entropy, std::log(L + 6), 1e-12 * (1 + std::log(L))) << law << L;
    }
    const Matrix V = Matrix::Identity(3, 3);
    EXPECT_NEAR(crowd_output_error(crowd, V, 50, 0).value, crowd.crowd->covariance().trace() / 50, 1e-13)
        << law;
  }
}

// Scaling the scores and scaling by the factor is the same, for crowds and for what is planted. Over a large
// factor the rule over the radii of an elliptical law must change with the scores.
TEST(CrowdedPrompt, FactorScalesAllScores) {
  for (const char* law : {"gaussian", "sphere:radius=3", "elliptical:low=0,high=2", "ball"}) {
    for (const double beta : {2.5, 5e3}) {
      const auto scaled = [&](double by) {
        return with(crowd_of(law, 3, by * vector_of({2.5, 0.5, 0})), TokenClass{1, 5 * by, 0},
                    {{3, -2.5 * by, 1.25 * by}});
      };
      const double size = beta > 100 ? 6 : 1, L = beta > 100 ? 1e100 : 1e5;  // large scores, long prompts
      const Numbers one = exact(scaled(size / beta), L, beta), other = exact(scaled(size), L, 1);
      for (const auto& [label, number] : kNumbers)
        EXPECT_NEAR(one.*number / other.*number, 1, 1e-12) << law << ' ' << beta << ' ' << label;
    }
  }
}

TEST(CrowdedPrompt, OutputErrorIsThatOfTheScaledLaw) {
  Matrix V(2, 3);
  V << 1, 0, 2, 0, -1, 1;
  const Vector a = vector_of({1, 0.5, -1});
  for (const char* law :
       {"gaussian:cov=toeplitz:0.5", "sphere:radius=2", "rademacher", "elliptical:low=0,high=2"}) {
    const CrowdedPrompt prompt = crowd_of(law, 3, a);
    for (const double beta : {0.3, 1.0, 2.0}) {
      const OutputError known = score_law_error(*prompt.crowd, V, beta * a, 1e4);
      EXPECT_NEAR(crowd_output_error(prompt, V, 1e4, beta).value / known.mse, 1, 1e-12) << law << beta;
    }
  }
}

TEST(CrowdedPrompt, LongPromptsKeepTheirSum) {
  for (const char* law : {"sphere", "rademacher", "elliptical:low=0,high=2", "ball"}) {
    const CrowdedPrompt prompt =
        with(crowd_of(law, 3, vector_of({1, 1, 1})), TokenClass{1, 30, 0}, {{1e50, -100, 3}});
    for (const double L : {1e2, 1e30, 1e300}) {
      for (const double beta : {0.1, 1.0, 3.0}) exact(prompt, L, beta);
    }
  }
}

TEST(CrowdedPrompt, BadInput) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  const CrowdedPrompt good = normal_crowd(1);
  for (const double L : {0.0, 0.5, -1.0, kNan, 2e300, std::numeric_limits<double>::infinity()})
    EXPECT_THROW(crowd_weights(good, L), InputError) << L;
  for (const double beta : {-1.0, kNan, std::numeric_limits<double>::infinity()})
    EXPECT_THROW(crowd_weights(good, 10, beta), InputError) << beta;
  EXPECT_THROW(crowd_weights(good, 10, 2e6), InputError);
  for (const double s : {0.0, -1.0, kNan}) EXPECT_THROW(normal_crowd(s), InputError) << s;
  EXPECT_THROW(crowd_weights({}, 10), InputError);
  for (const TokenClass& bad : {TokenClass{0, 0, 0}, TokenClass{1, kNan, 0}, TokenClass{1, 0, -1}}) {
    CrowdedPrompt prompt = good;
    prompt.needle = bad;
    EXPECT_THROW(crowd_weights(prompt, 10), InputError);
    prompt = good;
    prompt.planted = {bad};
    EXPECT_THROW(crowd_weights(prompt, 10), InputError);
  }
  CrowdedPrompt crowded = good;
  crowded.planted.assign(63, TokenClass{1, 0, 0});
  EXPECT_NO_THROW(crowd_weights(crowded, 10));
  crowded.needle = TokenClass{1, 0, 0};
  EXPECT_THROW(crowd_weights(crowded, 10), InputError);

  // Crowds that are not Gaussian have narrower limits, which once were those of classes for what is planted.
  CrowdedPrompt sphere = crowd_of("sphere", 3, Vector::Unit(3, 0));
  EXPECT_THROW(crowd_weights(sphere, 10, 100), InputError);
  sphere.planted = {{1, 0, 31}};
  EXPECT_THROW(crowd_weights(sphere, 10), InputError);
  sphere.planted = {{1, 1e5, 0}};
  EXPECT_THROW(crowd_weights(sphere, 10), InputError);
  EXPECT_TRUE(beyond_limits(sphere, 1));
  EXPECT_FALSE(beyond_limits(sphere, 0.01));
  // A law without a score law says so.
  EXPECT_THROW(crowd_weights(crowd_of("laplace", 2, Vector::Ones(2)), 10), InputError);
}

}  // namespace
}  // namespace largo::crowded_prompt_test
