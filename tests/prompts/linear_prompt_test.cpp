// Chi-squared draws, and the Wishart matrix that replaces a prompt under linear attention.
#include "prompts/linear_prompt.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include <boost/math/special_functions/gamma.hpp>

#include "largo/random/streams.hpp"
#include "prompts/chi_squared.hpp"
#include "prompts/padded_rows.hpp"
#include "support/kolmogorov.hpp"
#include "support/random_matrices.hpp"

namespace largo::linear_prompt_test {
namespace {

// Kolmogorov's statistic is beyond 2.2 with probability 1.2e-4, and there are some 60 of them here.
constexpr double kLargestDistance = 2.2;
// There are some 4000 z-scores: if normal, the largest is beyond 5 with probability 0.003 for a new seed.
constexpr double kLargestZ = 5;

constexpr test::RandomMatrices normals(19);

// √n sup |F_n - F|, from the values F(x_i).
double distance_to_uniform(const std::vector<double>& u) {
  return std::sqrt(static_cast<double>(u.size())) * test::kolmogorov_distance(u);
}

// √(nm/(n+m)) sup |F_n - G_m|
double distance(std::vector<double> x, std::vector<double> y) {
  std::sort(x.begin(), x.end());
  std::sort(y.begin(), y.end());
  const auto n = static_cast<double>(x.size()), m = static_cast<double>(y.size());
  double largest = 0;
  for (std::size_t i = 0, j = 0; i < x.size() && j < y.size();) {
    if (x[i] <= y[j]) {
      ++i;
    } else {
      ++j;
    }
    largest = std::max(largest, std::abs(static_cast<double>(i) / n - static_cast<double>(j) / m));
  }
  return std::sqrt(n * m / (n + m)) * largest;
}

TEST(ChiSquared, HasItsLawForEveryNumberOfDegrees) {
  constexpr int kDraws = 60000;
  constexpr std::int64_t kDegrees[] = {1, 2, 3, 4, 5, 10, 99, 1000, 1000000, std::int64_t{1} << 53};
  for (const std::int64_t n : kDegrees) {
    prompts::ChiSquaredDraws draws({7, static_cast<std::uint64_t>(n), 0},
                                   {7, static_cast<std::uint64_t>(n), std::uint64_t{1} << 40});
    std::vector<double> u;
    for (int i = 0; i < kDraws; ++i) {
      const double x = draws.chi_squared(n);
      const auto k = static_cast<double>(n);
      // Beyond a million degrees the normal law is close enough, and the incomplete gamma function is hard.
      u.push_back(n > 1000000 ? std::erfc(-(x - k) / std::sqrt(2 * k) / std::sqrt(2.0)) / 2
                              : boost::math::gamma_p(k / 2, x / 2));
    }
    EXPECT_LT(distance_to_uniform(u), kLargestDistance) << n << " degrees";
  }
}

TEST(ChiSquared, WithoutDegreesIsZero) {
  prompts::ChiSquaredDraws draws({7, 1, 0}, {7, 1, 1024});
  EXPECT_EQ(draws.chi_squared(0), 0);
}

// One drawn prompt: S a, S b and <b, S a>.
struct Attended {
  Vector Sa, Sb;
  double output;
};

class LinearPrompt {
 public:
  LinearPrompt(Vector a, Vector b)
      : size_(static_cast<std::size_t>(a.size())), rows_(6, size_), a_(a), b_(b) {
    std::copy_n(a.data(), size_, rows_.row(0));
    std::copy_n(b.data(), size_, rows_.row(1));
  }

  Attended draw(std::int64_t L, std::uint64_t prompt) {
    std::vector<double> x(2 * size_);
    Stream(23, prompt).normals(0, x);
    std::copy_n(x.begin(), size_, rows_.row(4));
    std::copy_n(x.begin() + static_cast<std::ptrdiff_t>(size_), size_, rows_.row(5));
    Attended got;
    got.output = prompts::draw_linear_prompt(
        {29, prompt, 0}, L, {rows_.row(0), rows_.row(1), rows_.row(2), rows_.row(3), rows_.stride()},
        rows_.row(4), rows_.row(5));
    got.Sa = Eigen::Map<const Vector>(rows_.row(4), a_.size());
    got.Sb = Eigen::Map<const Vector>(rows_.row(5), a_.size());
    return got;
  }

  // The same by definition, from tokens.
  Attended define(std::int64_t L, std::mt19937_64& random) const {
    std::normal_distribution<double> normal;
    Attended got{Vector::Zero(a_.size()), Vector::Zero(a_.size()), 0};
    for (std::int64_t i = 0; i < L; ++i) {
      const Vector x = Vector::NullaryExpr(a_.size(), [&] { return normal(random); });
      got.Sa += a_.dot(x) * x / static_cast<double>(L);
      got.Sb += b_.dot(x) * x / static_cast<double>(L);
    }
    got.output = b_.dot(got.Sa);
    return got;
  }

 private:
  std::size_t size_;
  prompts::PaddedRows rows_;
  Vector a_, b_;
};

struct Directions {
  std::string name;
  Vector a, b;
};

std::vector<Directions> directions() {
  const Vector a = normals(6, 1, 1), b = normals(6, 1, 2);
  return {{"plain", a, b},
          {"two dimensions", a.head(2), b.head(2)},
          {"values along scores", a, -0.7 * a},
          {"no scores", Vector::Zero(6), b},
          {"no values", a, Vector::Zero(6)}};
}

// E S = I and cov(S_ij, S_kl) = (δ_ik δ_jl + δ_il δ_jk)/L, so cov(S a, S b) = (<a, b> I + b aᵀ)/L.
TEST(LinearPrompts, HaveTheMomentsOfWishart) {
  constexpr int kDraws = 40000;
  for (const auto& [name, a, b] : directions()) {
    const auto n = a.size();
    for (const std::int64_t L : {1L, 2L, 3L, 10L, 1000L, 1000000000000L}) {
      LinearPrompt prompt(a, b);
      const auto length = static_cast<double>(L);
      Vector x(2 * n), mean(2 * n);
      mean << a, b;
      Matrix covariance(2 * n, 2 * n);
      const Matrix one = Matrix::Identity(n, n);
      covariance << a.dot(a) * one + a * a.transpose(), a.dot(b) * one + b * a.transpose(),
          a.dot(b) * one + a * b.transpose(), b.dot(b) * one + b * b.transpose();
      covariance /= length;
      // Quantities whose mean is known: the entries, their products in pairs, o and o².
      const double c = a.dot(b);
      const auto count = 2 * n + 4 * n * n + 2;
      Vector sum = Vector::Zero(count), squares = sum, q(count);
      for (int i = 0; i < kDraws; ++i) {
        const Attended got = prompt.draw(L, static_cast<std::uint64_t>(i));
        x << got.Sa, got.Sb;
        const Vector deviation = std::sqrt(length) * (x - mean);
        const Matrix product = deviation * deviation.transpose() - length * covariance;
        const double o = std::sqrt(length) * (got.output - c);
        q << deviation, product.reshaped(), o, o * o - (c * c + a.dot(a) * b.dot(b));
        sum += q;
        squares += q.cwiseAbs2();
      }
      double largest = 0;
      for (Eigen::Index i = 0; i < count; ++i) {
        const double error = std::sqrt(squares[i]) / kDraws;  // the mean is zero
        if (error == 0) continue;
        largest = std::max(largest, std::abs(sum[i] / kDraws) / error);
      }
      EXPECT_LT(largest, kLargestZ) << name << ", L = " << L << " (of " << count << " z-scores)";
    }
  }
}

// Compares whole distributions, which moments do not see, with tokens drawn in this test.
TEST(LinearPrompts, HaveTheLawOfTokens) {
  constexpr std::uint64_t kDraws = 30000;
  std::mt19937_64 random(5);
  for (const auto& [name, a, b] : directions()) {
    const Vector r = normals(a.size(), 1, 9), t = normals(a.size(), 1, 10);
    for (const std::int64_t L : {1, 2, 3, 10}) {
      LinearPrompt prompt(a, b);
      std::vector<std::vector<double>> drawn(4), defined(4);
      const auto keep = [&](const Attended& got, std::vector<std::vector<double>>& values) {
        values[0].push_back(got.output);
        values[1].push_back(r.dot(got.Sa) + t.dot(got.Sb));
        values[2].push_back(got.Sa.dot(got.Sb));
        values[3].push_back(got.Sa.squaredNorm() - 0.3 * got.Sb.squaredNorm());
      };
      for (std::uint64_t i = 0; i < kDraws; ++i) {
        keep(prompt.draw(L, i), drawn);
        keep(prompt.define(L, random), defined);
      }
      for (std::size_t k = 0; k < 4; ++k) {
        if (name == "no scores" && k != 1 && k != 3) continue;  // zeros on both sides
        if (name == "no values" && k != 1 && k != 3) continue;
        EXPECT_LT(distance(drawn[k], defined[k]), kLargestDistance) << name << ", L = " << L << ", " << k;
      }
    }
  }
}

}  // namespace
}  // namespace largo::linear_prompt_test
