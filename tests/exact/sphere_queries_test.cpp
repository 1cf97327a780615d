#include "exact/sphere_law.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <numbers>

#include "exact/sphere_rules.hpp"
#include "largo/exact/softmax_table.hpp"
#include "support/random_matrices.hpp"

namespace largo::sphere_queries_test {
namespace {

using std::numbers::pi;

// The rule promises 1e-11, and measured errors are smaller: see each test. The table of P_2, which the rule
// and the oracles share, jumps by 1e-13 between its panels.
constexpr double kPromised = 1e-11;
// For closed forms in dimension 30, where the roundings of 3,000 nodes add up.
constexpr double kMoments = 1e-12;

constexpr test::RandomMatrices normals(17);

Matrix rotation(std::ptrdiff_t size, std::uint64_t stream) {
  return Eigen::HouseholderQR<Matrix>(normals(size, size, stream)).householderQ();
}

// A function of s² and its name. The rule and the oracles share nothing but this function.
struct Statistic {
  std::string name;
  std::function<double(double)> of;
};

std::vector<Statistic> statistics(double largest_square) {
  std::vector<Statistic> all{{"1", [](double) { return 1.0; }},
                             {"exp(s²/2)", [=](double q) { return std::exp(0.5 * (q - largest_square)); }}};
  for (const double L : {2.0, 1e4, 1e12}) {
    auto table = SoftmaxTable::shared(L);
    const std::string at = " at L = " + ::testing::PrintToString(L);
    all.push_back({"P2" + at, [table](double q) { return (*table)(std::sqrt(q)).P2; }});
    all.push_back({"D" + at, [table](double q) { return (*table)(std::sqrt(q)).squared_spread; }});
  }
  return all;
}

struct Problem {
  double radius;
  Matrix scores, W, G;
  Matrix WG = 0.5 * (W * G + G * W);

  std::vector<exact::QueryNode> nodes() const { return exact::sphere_query_nodes(radius, scores, W, G, WG); }

  exact::FormProducts products(const Vector& z) const {
    const Vector a = scores * z;
    const double w = a.dot(W * a), g = a.dot(G * a), h = a.dot(WG * a), Z = z.squaredNorm();
    return {1, w, g, Z, Z * w, Z * g, Z * h, Z * w * g};
  }
};

// s² = r² θᵀ diag(λ) θ in rotated coordinates, with forms of full rank that are not diagonal there.
Problem problem_with(const Vector& lambda, double radius, std::uint64_t id) {
  const std::ptrdiff_t e = lambda.size();
  const Matrix V = normals(2, e, id), R = normals(e, e, id + 1);
  return {radius, rotation(e, id + 2) * lambda.cwiseSqrt().asDiagonal() * rotation(e, id + 3),
          V.transpose() * V, R.transpose() * R};
}

double sum(const std::vector<exact::QueryNode>& nodes, const Statistic& f, std::size_t k) {
  double total = 0;
  for (const exact::QueryNode& node : nodes) total += f.of(node.square) * node.fine[k];
  return total;
}

// Relative to the average of the absolute values, since one of the products may have both signs.
void expect_equal(const Problem& problem, const DirectRule& rule, double tolerance = kPromised) {
  const std::vector<exact::QueryNode> nodes = problem.nodes();
  double largest = 0;
  for (const exact::QueryNode& node : nodes) largest = std::max(largest, node.square);
  std::vector<std::pair<double, exact::FormProducts>> queries;
  for (std::size_t i = 0; i < rule.weights.size(); ++i) {
    const Vector z = problem.radius * rule.directions[i];
    queries.emplace_back((problem.scores * z).squaredNorm(), problem.products(z));
    for (double& x : queries.back().second) x *= rule.weights[i];
  }
  for (const Statistic& f : statistics(largest)) {
    exact::FormProducts truth{}, size{};
    for (const auto& [square, products] : queries) {
      const double value = f.of(square);
      for (std::size_t k = 0; k < exact::kFormProducts; ++k) {
        truth[k] += value * products[k];
        size[k] += std::abs(value * products[k]);
      }
    }
    for (std::size_t k = 0; k < exact::kFormProducts; ++k) {
      EXPECT_NEAR(sum(nodes, f, k), truth[k], tolerance * size[k]) << f.name << ", product " << k;
    }
  }
}

Vector of(std::initializer_list<double> values) {
  Vector vector(static_cast<Eigen::Index>(values.size()));
  std::copy(values.begin(), values.end(), vector.begin());
  return vector;
}

// Measured: 1.4e-12 at most.
TEST(SphereQueries, InThreeDimensionsByAProductRule) {
  const DirectRule rule = two_sphere(100);
  for (const double radius : {0.2, 1.0, 4.0}) {
    SCOPED_TRACE(radius);
    expect_equal(problem_with(of({0.1, 0.7, 1.3}), radius, 10), rule);
    expect_equal(problem_with(of({0.4, 0.4, 1.3}), radius, 20), rule);
    expect_equal(problem_with(of({0.4, 1.3, 1.3}), radius, 30), rule);
    expect_equal(problem_with(of({0, 0, 1}), radius, 40), rule);
  }
}

// Scores spread up to s = 30: the statistics condense on the way, and exp(s²/2) comes from the largest s
// alone. Measured: 5e-13.
TEST(SphereQueries, WithLargeScores) {
  const DirectRule rule = two_sphere(400);
  expect_equal(problem_with(of({0.2, 0.5, 1}), 30, 50), rule);
  expect_equal(problem_with(of({0, 0.9, 1}), 12, 60), rule);
}

// Measured: 1e-12 at most, the error of the table.
TEST(SphereQueries, EqualOrNearlyEqualOrFarApart) {
  const DirectRule rule = three_sphere(40);
  for (const double gap : {1e-3, 1e-6, 1e-9, 1e-12, 1e-14}) {
    SCOPED_TRACE(gap);
    expect_equal(problem_with(of({0.3, 1, 1 + gap, 2}), 1.2, 70), rule);
    expect_equal(problem_with(of({0.3, 1, 1 + gap, 1 + 2 * gap}), 1.2, 80), rule);
    expect_equal(problem_with(of({0.3, 0.3 * (1 + gap), 1, 1 + gap}), 1.2, 90), rule);
    expect_equal(problem_with(of({1, 1 + gap, 1 + 2 * gap, 1 + 4 * gap}), 1.2, 100), rule);
    expect_equal(problem_with(of({0, gap, 1, 1}), 1.2, 110), rule);
  }
  expect_equal(problem_with(of({1e-6, 1e-4, 1e-2, 1}), 1.5, 120), rule);
  expect_equal(problem_with(of({0, 0, 1, 1}), 1.5, 130), rule);
  expect_equal(problem_with(of({0, 0, 0, 1}), 1.5, 140), rule);
}

// Queries have four coordinates, and scores one, two or five.
TEST(SphereQueries, ScoresOfAnotherSize) {
  const DirectRule rule = three_sphere(40);
  for (const int rows : {1, 2, 5}) {
    const Matrix V = normals(2, rows, 150), R = normals(rows, rows, 151);
    const Matrix scores = 0.7 * normals(rows, 4, 152);
    expect_equal({0.9, scores, V.transpose() * V, R.transpose() * R}, rule);
  }
}

TEST(SphereQueries, OnACircle) {
  for (const double radius : {0.3, 2.0, 30.0}) {
    DirectRule rule;
    constexpr int kNodes = 20000;
    for (int i = 0; i < kNodes; ++i) {
      rule.directions.push_back(
          Eigen::Vector2d(std::cos(2 * pi * i / kNodes), std::sin(2 * pi * i / kNodes)));
      rule.weights.push_back(1.0 / kNodes);
    }
    expect_equal(problem_with(of({0.2, 1}), radius, 160), rule);
    expect_equal(problem_with(of({0, 1}), radius, 170), rule);
    expect_equal(problem_with(of({1 - 1e-9, 1}), radius, 180), rule);
  }
}

TEST(SphereQueries, OnALine) {
  const DirectRule rule{{Vector::Constant(1, 1), Vector::Constant(1, -1)}, {0.5, 0.5}};
  const Problem problem = problem_with(of({1.7}), 1.3, 190);
  EXPECT_EQ(problem.nodes().size(), 1);
  expect_equal(problem, rule);
}

TEST(SphereQueries, OneSpreadIsOneNode) {
  const Problem isotropic = problem_with(of({1.1, 1.1, 1.1}), 1.4, 200);
  EXPECT_EQ(isotropic.nodes().size(), 1);
  EXPECT_DOUBLE_EQ(isotropic.nodes()[0].square, 1.1 * 1.4 * 1.4);
  expect_equal(isotropic, two_sphere(5));

  Problem zero = isotropic;
  zero.scores.setZero();
  ASSERT_EQ(zero.nodes().size(), 1);
  EXPECT_EQ(zero.nodes()[0].square, 0);
  EXPECT_EQ(zero.nodes()[0].fine, (exact::FormProducts{1, 0, 0, 1.4 * 1.4, 0, 0, 0, 0}));
  zero = isotropic;
  zero.radius = 0;
  ASSERT_EQ(zero.nodes().size(), 1);
  EXPECT_EQ(zero.nodes()[0].fine, (exact::FormProducts{1, 0, 0, 0, 0, 0, 0, 0}));
}

// E[Q^n] from the cumulants 2^{k-1} (k - 1)! Σλ^k of Σ λ_j g_j² and E|g|^{2n} = e (e + 2) … (e + 2n - 2).
std::vector<double> moments(const Vector& lambda, int count) {
  std::vector<double> cumulants{0}, gaussian{1}, sphere{1};
  double factor = 1, chi = 1;
  for (int n = 1; n <= count; ++n) {
    cumulants.push_back(factor * lambda.array().pow(n).sum());
    factor *= 2 * n;
    double moment = 0, binomial = 1;  // binomial: n - 1 over k - 1
    for (int k = 1; k <= n; ++k) {
      moment += binomial * cumulants[static_cast<std::size_t>(k)] * gaussian[static_cast<std::size_t>(n - k)];
      binomial *= static_cast<double>(n - k) / k;
    }
    gaussian.push_back(moment);
    chi *= static_cast<double>(lambda.size()) + 2 * (n - 1);
    sphere.push_back(moment / chi);
  }
  return sphere;
}

// Moments of Q, and of the forms without f: tr A/e and (tr A tr B + 2 tr AB)/(e (e + 2)).
TEST(SphereQueries, MomentsInClosedForm) {
  Vector clusters = Vector::LinSpaced(30, 0.5, 0.5 * (1 + 1e-6));
  clusters[0] = 0.01;
  clusters[29] = 1;
  for (const Vector& lambda : std::initializer_list<Vector>{
           of({0.1, 0.2, 0.3, 0.5, 0.6, 0.9, 1, 1.4}), of({0, 0, 0, 0.5, 0.5, 0.5 + 1e-7, 1, 1.4}),
           of({1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-2, 0.1, 1}), Vector::LinSpaced(30, 0.05, 1), clusters}) {
    const Problem problem = problem_with(lambda, 2, 210);
    const std::vector<exact::QueryNode> nodes = problem.nodes();
    const double e = static_cast<double>(lambda.size());
    const Matrix map = problem.radius * problem.scores;
    const Matrix W = map.transpose() * problem.W * map, G = map.transpose() * problem.G * map;
    const double h = (map.transpose() * problem.WG * map).trace();
    const double product = (W.trace() * G.trace() + 2 * (W * G).trace()) / (e * (e + 2));
    const exact::FormProducts truth{
        1, W.trace() / e, G.trace() / e, 4, 4 * W.trace() / e, 4 * G.trace() / e, 4 * h / e, 4 * product};
    const Statistic one{"1", [](double) { return 1.0; }};
    for (std::size_t k = 0; k < exact::kFormProducts; ++k) {
      EXPECT_NEAR(sum(nodes, one, k), truth[k], kMoments * truth[k]) << k;
    }
    const std::vector<double> expected = moments(4 * lambda, 6);
    for (int n = 0; n <= 6; ++n) {
      const Statistic power{"power", [n](double q) { return std::pow(q, n); }};
      const double truth_n = expected[static_cast<std::size_t>(n)];
      EXPECT_NEAR(sum(nodes, power, exact::kOne), truth_n, kMoments * truth_n) << n;
    }
  }
}

// 400,000 queries, all products with E[P_2] at L = 1e4, e = 8: eight comparisons at 5 standard errors would
// give a false alarm with probability 5e-6, were the seed not fixed.
TEST(SphereQueries, InEightDimensionsBySampling) {
  const Problem problem = problem_with(of({0, 0.2, 0.2, 0.5, 0.6, 0.9, 1, 1.4}), 3, 220);
  const Statistic f = statistics(1)[4];
  constexpr int kQueries = 400'000;
  exact::FormProducts mean{}, square{};
  const Matrix draws = normals(8, kQueries, 230);
  for (int i = 0; i < kQueries; ++i) {
    const Vector z = problem.radius * draws.col(i).normalized();
    const exact::FormProducts products = problem.products(z);
    const double value = f.of((problem.scores * z).squaredNorm());
    for (std::size_t k = 0; k < exact::kFormProducts; ++k) {
      mean[k] += value * products[k] / kQueries;
      square[k] += value * products[k] * value * products[k] / kQueries;
    }
  }
  const std::vector<exact::QueryNode> nodes = problem.nodes();
  for (std::size_t k = 0; k < exact::kFormProducts; ++k) {
    const double error = std::sqrt((square[k] - mean[k] * mean[k]) / kQueries);
    EXPECT_NEAR(sum(nodes, f, k), mean[k], 5 * error) << k;
  }
}

// The coarser contour estimates the error of the finer one: the two differ, but not by much. The number of
// nodes stays moderate.
TEST(SphereQueries, CoarseAndCost) {
  for (const std::size_t e : {3, 8, 30}) {
    for (const double radius : {1.0, 30.0}) {
      const std::vector<exact::QueryNode> nodes =
          problem_with(Vector::LinSpaced(static_cast<Eigen::Index>(e), 0.05, 1), radius, 240).nodes();
      EXPECT_LT(nodes.size(), radius < 2 ? 200 * e : 600 * e);
      for (std::size_t k = 0; k < exact::kFormProducts; ++k) {
        double total = 0, difference = 0;
        for (const exact::QueryNode& node : nodes) {
          total += std::abs(node.fine[k]);
          difference += std::abs(node.fine[k] - node.coarse[k]);
        }
        EXPECT_LT(difference, kPromised * total) << e << " " << k;
        EXPECT_GT(difference, 0);
      }
    }
  }
}

}  // namespace
}  // namespace largo::sphere_queries_test
