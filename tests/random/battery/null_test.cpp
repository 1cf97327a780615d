// The battery itself is sound: on an independent good generator, ChaCha20, its p-values are uniform.
#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include <gtest/gtest.h>

#include "random/battery/chacha.hpp"
#include "random/battery/normal_tests.hpp"
#include "random/battery/word_test.hpp"

namespace largo::battery {
namespace {

TEST(ChaChaItself, KnownAnswer) {
  // RFC 8439, section 2.3.2.
  ChaCha chacha(0);
  for (std::uint32_t k = 0; k < 8; ++k) chacha.state()[4 + k] = 0x03020100 + 0x04040404 * k;
  chacha.state()[12] = 1;
  chacha.state()[13] = 0x09000000;
  chacha.state()[14] = 0x4a000000;
  chacha.state()[15] = 0;
  const auto x = chacha.block();
  EXPECT_EQ(x[0], 0xe4e7f110U);
  EXPECT_EQ(x[15], 0x4e3c50a2U);
}

// Ten runs of 6 MiB. Kolmogorov-Smirnov tests are made on the ten p-values of each test and on all p-values
// together; the smallest of some 130 such p-values is below 1e-5 for one key in 700.
TEST(Null, PValuesOfAGoodGeneratorAreUniform) {
  std::map<std::string, std::vector<Result>> by_test;
  std::vector<Result> all;
  for (std::uint32_t key = 1; key <= 10; ++key) {
    Runner runner(all_word_tests(8), kHistory, kBlock);
    runner.run(ChaCha(key), 48);
    std::vector<Result> results;
    runner.report(results);
    for (const Result& result : results) {
      EXPECT_GT(result.tail(), 1e-7) << result.name << " " << result.statistic;
      by_test[result.name].push_back(result);
      all.push_back(result);
    }
  }
  EXPECT_GT(by_test.size(), 80U);
  for (const auto& [name, results] : by_test) {
    EXPECT_GT(uniformity(results).tail(), 1e-5) << name;
  }
  EXPECT_GT(uniformity(all).tail(), 1e-4);
}

TEST(Null, NormalTestsAcceptNormals) {
  ChaCha chacha(77);
  NormalTests tests;
  std::array<std::uint64_t, 2048> words;
  std::array<float, 1024> x, y;
  for (int prompt = 0; prompt < 1000; ++prompt) {
    chacha(words);
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double u = (static_cast<double>(words[2 * i] >> 12) + 0.5) * 0x1p-52;
      const double angle = 2 * 3.14159265358979 * static_cast<double>(words[2 * i + 1]) * 0x1p-64;
      x[i] = static_cast<float>(std::sqrt(-2 * std::log(u)) * std::cos(angle));
      y[i] = static_cast<float>(std::sqrt(-2 * std::log(u)) * std::sin(angle));
    }
    tests.add(x, y);
  }
  std::vector<Result> results;
  tests.report(results);
  for (const Result& result : results) EXPECT_GT(result.tail(), 1e-5) << result.name << result.statistic;
  EXPECT_GT(uniformity(results).tail(), 1e-4);
}

TEST(Result, TailsOfKnownLaws) {
  // From tables: the 5 % point of chi-square at 10 degrees, 2.5 % of the normal law, 5 % of Kolmogorov's;
  // Poisson by hand.
  EXPECT_NEAR(chi_square_result("", 18.307, 10).above, 0.05, 1e-5);
  EXPECT_NEAR(normal_result("", 1.959964).above, 0.025, 1e-8);
  EXPECT_NEAR(kolmogorov_result("", 1.3581 / 1e6, 1e12).above, 0.05, 1e-4);
  EXPECT_NEAR(kolmogorov_result("", 0.5196 / 1e6, 1e12).below, 0.05, 1e-4);
  EXPECT_NEAR(poisson_result("", 0, 1).below, std::exp(-1.0) / 2, 1e-12);
  EXPECT_NEAR(poisson_result("", 2, 1).above, 1 - 2.25 * std::exp(-1.0), 1e-12);
  EXPECT_NEAR(rarest_result("", 0, 0.01, 2).above, 1 - 0.99 * 0.99, 1e-12);
}

}  // namespace
}  // namespace largo::battery
