// Risks of in-context regression beside a sink: without one they are those of the exact engine, for one token
// a plain quadrature, for several a simulation; slopes are differences.
#include <gtest/gtest.h>

#include <boost/math/quadrature/gauss_kronrod.hpp>
#include <cmath>
#include <limits>
#include <random>

#include "exact/sink_table.hpp"
#include "largo/exact/token_classes.hpp"
#include "largo/icl/exact_risk.hpp"
#include "largo/icl/invariant_risk.hpp"
#include "largo/icl/invariant_set.hpp"
#include "largo/icl/named_problem.hpp"
#include "largo/icl/regression_flow.hpp"
#include "largo/icl/regression_risk.hpp"
#include "largo/icl/threshold.hpp"
#include "largo/runtime/check.hpp"
#include "support/random_matrices.hpp"

namespace largo::sink_risk_test {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

RegressionProblem problem_of(Eigen::Index d, double sink) {
  RegressionProblem problem = published_problem(PublishedData::paper, d);
  problem.query_covariance = Matrix::Identity(d, d) + 0.2 * Matrix::Ones(d, d);
  problem.sink = sink;
  return problem;
}

Vector parameters_of(Eigen::Index d, double size, double b) {
  std::mt19937_64 random(static_cast<std::uint64_t>(d));
  std::normal_distribution<double> normal;
  Vector at(d * d + 1);
  for (double& x : at) x = size * normal(random);
  at[d * d] = b;
  return at;
}

// A sink of no weight: another table, and another path through the averages.
TEST(SinkRisk, WithoutWeightIsTheRiskWithoutASink) {
  for (const Eigen::Index d : {1, 3}) {
    for (const LengthLaw& L :
         {LengthLaw(1), LengthLaw(7), LengthLaw(300), LengthLaw(1e6), LengthLaw::uniform(2, 40)}) {
      for (const double size : {0.0, 0.3, 1.5, 4.0}) {
        const Vector at = parameters_of(d, size, 1.3);
        const RiskPoint with = invariant_risk(problem_of(d, -300), AttentionKind::softmax, L)->at(at),
                        without =
                            invariant_risk(problem_of(d, -kInfinity), AttentionKind::softmax, L)->at(at);
        EXPECT_NEAR(with.value, without.value, 1e-10 * (1 + without.value) + with.error + without.error)
            << d << ' ' << L.name() << ' ' << size;
        EXPECT_LE((with.gradient - without.gradient).norm(), 1e-8 * (1 + without.gradient.norm()))
            << d << ' ' << L.name() << ' ' << size;
      }
    }
  }
}

// One token in one dimension has the weight e^{axq}/(e^{axq} + e^β) beside the sink.
TEST(SinkRisk, OfOneTokenIsAQuadrature) {
  using Rule = boost::math::quadrature::gauss_kronrod<double, 61>;
  const auto normal = [](double x) { return std::exp(-0.5 * x * x) / std::sqrt(2 * std::acos(-1)); };
  for (const double sink : {-1.0, 0.0, 2.5}) {
    for (const double a : {0.4, 1.7}) {
      const double b = 1.4, noise = 0.3;
      const auto inner = [&](double query) {
        return Rule::integrate(
            [&](double x) {
              const double weight = 1 / (1 + std::exp(sink - a * x * query));
              const double loss =
                  b * b * weight * weight * (x * x + noise) - 2 * b * weight * x * query + query * query;
              return 0.5 * normal(x) * loss;
            },
            -9.0, 9.0, 5, 1e-12);
      };
      const double truth =
          Rule::integrate([&](double query) { return normal(query) * inner(query); }, -9.0, 9.0, 5, 1e-12);
      RegressionProblem problem = paper_problem(Matrix::Identity(1, 1));
      problem.noise_variance = noise;
      problem.sink = sink;
      const RiskPoint found = invariant_risk(problem, AttentionKind::softmax, 1)->at(Vector{{a, b}});
      EXPECT_NEAR(found.value, truth, 1e-9 * truth) << sink << ' ' << a;
      EXPECT_LE(std::abs(found.value - truth), found.error + 1e-11);
    }
  }
}

TEST(SinkRisk, SlopesAreDifferences) {
  for (const double sink : {-2.0, 1.0, 6.0}) {
    for (const double L : {1.0, 20.0, 1e5}) {
      const auto risk = invariant_risk(problem_of(2, sink), AttentionKind::softmax, L);
      const Vector at = parameters_of(2, 0.8, 1.2);
      const Vector slope = risk->at(at).gradient;
      for (Eigen::Index i = 0; i < at.size(); ++i) {
        constexpr double kStep = 1e-4;
        Vector up = at, down = at;
        up[i] += kStep;
        down[i] -= kStep;
        const double difference = (risk->at(up).value - risk->at(down).value) / (2 * kStep);
        EXPECT_NEAR(slope[i], difference, 1e-6 * (1 + std::abs(difference))) << sink << ' ' << L << ' ' << i;
      }
    }
  }
}

// Within 4 standard errors: another seed would fail one of the 6 comparisons with a chance of 4e-4.
TEST(SinkRisk, AgreesWithSimulation) {
  constexpr int kPrompts = 40000;
  std::mt19937_64 random(11);
  std::normal_distribution<double> normal;
  for (const double sink : {0.0, 3.0}) {
    for (const int L : {2, 10, 60}) {
      const RegressionProblem problem = problem_of(2, sink);
      const Vector at = parameters_of(2, 0.6, 1.2);
      const Matrix A = at.head(4).reshaped(2, 2);
      const auto draw = [&](const Matrix& covariance) -> Vector {
        const Matrix root = covariance.llt().matrixL();
        return root * Vector{{normal(random), normal(random)}};
      };
      double sum = 0, squares = 0;
      for (int k = 0; k < kPrompts; ++k) {
        const Vector w = draw(problem.prior_covariance), query = draw(problem.query_covariance);
        double S = std::exp(sink), labels = 0;
        for (int i = 0; i < L; ++i) {
          const Vector x = draw(problem.covariance);
          const double weight = std::exp(problem.score_scale * x.dot(A * query));
          S += weight;
          labels += weight * (w.dot(x) + std::sqrt(problem.noise_variance) * normal(random));
        }
        const double miss = at[4] * labels / S - w.dot(query), loss = 0.5 * miss * miss;
        sum += loss;
        squares += loss * loss;
      }
      const double mean = sum / kPrompts;
      const double error = std::sqrt((squares / kPrompts - mean * mean) / kPrompts);
      EXPECT_NEAR(invariant_risk(problem, AttentionKind::softmax, L)->at(at).value, mean, 4 * error)
          << sink << ' ' << L;
    }
  }
}

// The integrals of class_moments(), which share the nodes but not the sums.
TEST(SinkRisk, StatisticsAreThoseOfClasses) {
  for (const double s : {0.0, 0.7, 2.0, 6.0}) {
    for (const double L : {1.0, 30.0, 1e8}) {
      for (const double sink : {-3.0, 2.0, 15.0}) {
        const ClassMoments known = class_moments(std::vector<TokenClass>{{L, 0, s}, {1, sink, 0}});
        const exact::SinkStatistics found = exact::sink_statistics(s, L, sink);
        EXPECT_NEAR(found.p, known.squares[0].value, 1e-11 * found.p);
        EXPECT_NEAR(found.lost, known.weights[1].value + known.squares[0].value, 1e-11 * found.lost);
        const exact::SinkStatistics table = exact::SinkTable(L, sink)(s * s);
        EXPECT_NEAR(table.p, found.p, 1e-11 * found.p);
        EXPECT_NEAR(table.lost, found.lost, 1e-11 * found.lost);
        EXPECT_NEAR(table.phi, found.phi, 1e-11 * found.lost);
      }
    }
  }
}

// Where a sink outweighs the crowd until scores are spread, its weight changes over a short range of s. In
// one dimension the part of the risk that is odd in b is -a b E[q² (E[W] - E[P_2])] over queries q, at s =
// a|q|.
TEST(SinkRisk, HeavySinksOverLongPrompts) {
  struct Setting {
    double L, sink, a;
  };
  for (const Setting& at : {Setting{1e9, 30, 10}, {1e12, 40, 4}, {1e50, 200, 10}}) {
    RegressionProblem problem = paper_problem(Matrix::Identity(1, 1));
    problem.sink = at.sink;
    const auto risk = invariant_risk(problem, AttentionKind::softmax, at.L);
    const RiskPoint plus = risk->at(Vector{{at.a, 1}}), minus = risk->at(Vector{{at.a, -1}});
    double truth = 0;
    constexpr double kStep = 0.0015;
    for (double q = kStep / 2; q < 9; q += kStep) {
      const ClassMoments known = class_moments(std::vector<TokenClass>{{at.L, 0, at.a * q}, {1, at.sink, 0}});
      truth += 2 * kStep * at.a * q * q * std::exp(-0.5 * q * q) / std::sqrt(2 * std::acos(-1)) *
               (known.weights[0].value - known.squares[0].value);
    }
    const double found = 0.5 * (minus.value - plus.value);
    EXPECT_NEAR(found, truth, 1e-8 * truth) << at.L << ' ' << at.sink;
    EXPECT_LE(std::abs(found - truth), 0.5 * (plus.error + minus.error) + 1e-10 * truth) << at.L;
    EXPECT_LE(plus.error, 1e-7 * (1 + plus.value)) << at.L;
  }
}

// Training ends at a lower risk than the start, and a heavier sink needs longer prompts.
TEST(SinkRisk, Training) {
  double last = 0;
  for (const double sink : {-kInfinity, 3.0, 6.0}) {
    RegressionProblem problem = paper_problem(Matrix::Identity(2, 2));
    problem.sink = sink;
    const Threshold found = threshold(problem, 0.05, paper_start(problem, 0.5, Matrix::Identity(2, 2)));
    EXPECT_GT(found.L, last);
    EXPECT_LE(found.risk, 0.05);
    EXPECT_GT(found.before.risk, 0.05);
    last = found.L;
  }
}

TEST(SinkRisk, Mistakes) {
  RegressionProblem problem = problem_of(2, 1);
  EXPECT_THROW(problem.task(), InputError);  // drawn prompts
  RegressionParameters off{Matrix::Ones(3, 3), Vector::Ones(3)};
  EXPECT_THROW(exact_risk(problem, 10, off), InputError);
  EXPECT_THROW(regression_risk(problem, AttentionKind::softmax, 10, off), InputError);
  EXPECT_GT(regression_risk(problem, AttentionKind::linear, 10, off).value, 0);
  problem.sink = std::nan("");
  EXPECT_THROW(check(problem), InputError);
  problem.sink = 301;
  EXPECT_THROW(check(problem), InputError);
  problem.sink = kInfinity;
  EXPECT_THROW(check(problem), InputError);
}

}  // namespace
}  // namespace largo::sink_risk_test
