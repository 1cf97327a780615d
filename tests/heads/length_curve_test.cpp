// The exact error of drawn prompts, against sums over all prompts of two tokens, and against draws.
#include "heads/length_curve.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "largo/random/streams.hpp"
#include "support/fixtures.hpp"

namespace largo::test::length_curve_test {
namespace {

struct Tokens {
  std::vector<double> gaps;
  Matrix values;  ///< one a column

  double weight(std::ptrdiff_t j) const { return std::exp(-gaps[static_cast<std::size_t>(j)]); }
  std::ptrdiff_t count() const { return values.cols(); }

  Vector output() const {
    Vector sum = Vector::Zero(values.rows());
    double total = 0;
    for (std::ptrdiff_t j = 0; j < count(); ++j) {
      sum += weight(j) * values.col(j);
      total += weight(j);
    }
    return sum / total;
  }

  heads::ScoreBins bins() const {
    heads::ScoreBins bins(values.rows());
    for (std::ptrdiff_t j = 0; j < count(); ++j) {
      bins.add(gaps[static_cast<std::size_t>(j)], weight(j),
               {values.col(j).data(), static_cast<std::size_t>(values.rows())}, values.col(j).squaredNorm());
    }
    return bins;
  }
};

Tokens normal_tokens(std::ptrdiff_t count, double spread, std::ptrdiff_t columns = 3) {
  Tokens tokens{std::vector<double>(static_cast<std::size_t>(count)), Matrix(columns, count)};
  Stream(3, 1).normals(0, tokens.gaps);
  Stream(3, 2).normals(0, {tokens.values.data(), static_cast<std::size_t>(tokens.values.size())});
  double most = -1e300;
  for (const double gap : tokens.gaps) most = std::max(most, spread * gap);
  for (double& gap : tokens.gaps) gap = most - spread * gap;
  return tokens;
}

// Mean over all prompts of one and of two tokens.
double error_of_one(const Tokens& tokens) {
  return (tokens.values.colwise() - tokens.output()).colwise().squaredNorm().mean();
}

double error_of_two(const Tokens& tokens) {
  const Vector output = tokens.output();
  double sum = 0;
  for (std::ptrdiff_t i = 0; i < tokens.count(); ++i) {
    for (std::ptrdiff_t j = 0; j < tokens.count(); ++j) {
      const double a = tokens.weight(i), b = tokens.weight(j);
      sum += ((a * tokens.values.col(i) + b * tokens.values.col(j)) / (a + b) - output).squaredNorm();
    }
  }
  return sum / static_cast<double>(tokens.count() * tokens.count());
}

double drawn_error(const Tokens& tokens, std::int64_t L, std::int64_t prompts) {
  const Vector output = tokens.output();
  std::vector<double> uniforms(static_cast<std::size_t>(L));
  double sum = 0;
  for (std::int64_t r = 0; r < prompts; ++r) {
    Stream(4, static_cast<std::uint64_t>(r)).uniforms(0, uniforms);
    Vector total = Vector::Zero(output.size());
    double weight = 0;
    for (const double u : uniforms) {
      const auto j = static_cast<std::ptrdiff_t>(u * static_cast<double>(tokens.count()));
      total += tokens.weight(j) * tokens.values.col(j);
      weight += tokens.weight(j);
    }
    sum += (total / weight - output).squaredNorm();
  }
  return sum / static_cast<double>(prompts);
}

// Few tokens are alone in their intervals: what is left is the error of the rule in ln t.
TEST(LengthCurve, ShortPromptsOfFewTokens) {
  for (const double spread : {0.0, 0.5, 3.0, 20.0}) {
    Tokens tokens = normal_tokens(9, spread);
    std::sort(tokens.gaps.begin(), tokens.gaps.end());
    for (std::size_t j = 0; j < tokens.gaps.size(); ++j) tokens.gaps[j] += 0.125 * static_cast<double>(j);
    const auto errors = heads::sampled_errors(tokens.bins());
    EXPECT_NEAR(errors[0] / error_of_one(tokens), 1, 1e-6) << spread;
    EXPECT_NEAR(errors[1] / error_of_two(tokens), 1, 1e-6) << spread;
  }
}

// With 500 tokens the intervals of scores count, too.
TEST(LengthCurve, ShortPromptsOfManyTokens) {
  for (const double spread : {0.5, 2.0}) {
    const Tokens tokens = normal_tokens(500, spread);
    const auto errors = heads::sampled_errors(tokens.bins());
    EXPECT_NEAR(errors[0] / error_of_one(tokens), 1, 1e-3);
    EXPECT_NEAR(errors[1] / error_of_two(tokens), 1, 1e-3);
  }
}

TEST(LengthCurve, AgreesWithDrawnPrompts) {
  const Tokens tokens = normal_tokens(200, 1.5);
  const auto errors = heads::sampled_errors(tokens.bins());
  // 20,000 prompts: a relative standard error of some 1 %; five of them are allowed.
  EXPECT_NEAR(errors[5] / drawn_error(tokens, 32, 20000), 1, 0.05);
}

TEST(LengthCurve, LongPromptsFallLikeOneOverL) {
  const Tokens tokens = normal_tokens(50, 2);
  const Vector output = tokens.output();
  double sum = 0, total = 0;
  for (std::ptrdiff_t j = 0; j < tokens.count(); ++j) {
    sum += tokens.weight(j) * tokens.weight(j) * (tokens.values.col(j) - output).squaredNorm();
    total += tokens.weight(j);
  }
  const double expected = static_cast<double>(tokens.count()) * sum / (total * total) / 0x1p32;
  EXPECT_NEAR(heads::sampled_errors(tokens.bins()).back() / expected, 1, 1e-3);
}

TEST(LengthCurve, BoundsAreAboveErrors) {
  for (const double spread : {0.1, 1.0, 4.0}) {
    const Tokens tokens = normal_tokens(300, spread);
    const Vector output = tokens.output();
    double total = 0, squares = 0;
    for (std::ptrdiff_t j = 0; j < tokens.count(); ++j) {
      total += tokens.weight(j);
      squares += tokens.weight(j) * tokens.weight(j);
    }
    const double radius = std::sqrt(tokens.values.colwise().squaredNorm().maxCoeff()) + output.norm();
    const auto bounds = heads::certified_errors(tokens.bins(), output, squares / (total * total), radius);
    const auto errors = heads::sampled_errors(tokens.bins());
    for (std::size_t i = 0; i < heads::kLengths; ++i) EXPECT_GE(bounds[i], errors[i]) << spread << " " << i;
    EXPECT_LE(bounds.back(), 1.2 * errors.back());
  }
}

TEST(LengthCurve, LengthWithinALimit) {
  std::array<double, heads::kLengths> errors = {};
  for (std::size_t i = 0; i < heads::kLengths; ++i) errors[i] = 3 / heads::length_at(i);
  EXPECT_NEAR(heads::length_within(errors, 0.1), 30, 1e-9);
  EXPECT_NEAR(heads::length_within(errors, 1e-12), 3e12, 1);
  EXPECT_EQ(heads::length_within(errors, 3), 1);
  errors[7] = 5;  // what holds, holds from there on
  EXPECT_GT(heads::length_within(errors, 0.1), 128);
}

}  // namespace
}  // namespace largo::test::length_curve_test
