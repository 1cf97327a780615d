// The polynomial risks, R_∞ and linear attention's R_L, against averages over everything that is drawn: w,
// x_q and the tokens. Gauss-Hermite rules of three nodes in each coordinate are exact here (degree 4).
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

#include "icl/regression_settings.hpp"
#include "largo/icl/general_risk.hpp"
#include "largo/icl/invariant_risk.hpp"
#include "largo/icl/regression_maps.hpp"
#include "largo/runtime/check.hpp"

namespace largo::risk_moments_test {
namespace {

using test::kInfinity;

constexpr double kMoments = 1e-12;

// E f(x) for x standard normal in n coordinates.
double average(Eigen::Index n, const std::function<double(const Vector&)>& f) {
  constexpr double kNodes[] = {-1.7320508075688772, 0, 1.7320508075688772};
  constexpr double kWeights[] = {1.0 / 6, 2.0 / 3, 1.0 / 6};
  Vector x(n);
  const std::function<double(Eigen::Index)> from = [&](Eigen::Index j) {
    if (j == n) return f(x);
    double sum = 0;
    for (int k = 0; k < 3; ++k) {
      x[j] = kNodes[k];
      sum += kWeights[k] * from(j + 1);
    }
    return sum;
  };
  return from(0);
}

struct Setting {
  RegressionProblem problem;
  RegressionTask roots;
  RegressionParameters parameters;
  Eigen::Index d;

  Setting(std::uint64_t id, Eigen::Index dimension)
      : problem(test::random_problem(id, dimension)),
        roots(problem.task()),
        parameters(test::random_parameters(id, dimension)),
        d(dimension) {}

  // One token's share of the output of linear attention, γ <z, U x> <v, z>.
  double share(const Vector& w, const Vector& x, const Vector& draw) const {
    Vector z(d + 1), query(d + 1);
    z.head(d) = roots.token_root * draw.head(d);
    z[d] = w.dot(z.head(d)) + roots.noise_deviation * draw[d];
    query << x, 0;
    return problem.score_scale * z.dot(parameters.U * query) * parameters.v.dot(z);
  }

  // ½ E (o - <w, x_q>)² from the mean and the mean square of a token's share given (w, x_q).
  double risk(double L) const {
    return 0.5 * average(2 * d, [&](const Vector& drawn) {
             const Vector w = roots.prior_root * drawn.head(d), x = roots.query_root * drawn.tail(d);
             const double mean = average(d + 1, [&](const Vector& draw) { return share(w, x, draw); });
             const double square =
                 average(d + 1, [&](const Vector& draw) { return std::pow(share(w, x, draw), 2); });
             return std::pow(mean - w.dot(x), 2) + (square - mean * mean) / L;
           });
  }

  // The same for two tokens, drawn at once.
  double risk_of_two() const {
    return 0.5 * average(2 * d, [&](const Vector& drawn) {
             const Vector w = roots.prior_root * drawn.head(d), x = roots.query_root * drawn.tail(d);
             return average(2 * d + 2, [&](const Vector& draws) {
               const double output = (share(w, x, draws.head(d + 1)) + share(w, x, draws.tail(d + 1))) / 2;
               return std::pow(output - w.dot(x), 2);
             });
           });
  }
};

TEST(RiskMoments, GeneralRisks) {
  for (const Eigen::Index d : {1, 2, 3}) {
    const Setting setting(static_cast<std::uint64_t>(d) + 5, d);
    const Vector parameters = to_vector(setting.parameters);
    const auto value = [&](AttentionKind kind, double L) {
      return general_risk(setting.problem, kind, L)->at(parameters).value;
    };
    const double limit = setting.risk(kInfinity);
    EXPECT_NEAR(value(AttentionKind::softmax, kInfinity), limit, kMoments * limit) << d;
    EXPECT_NEAR(value(AttentionKind::linear, kInfinity), limit, kMoments * limit) << d;
    for (const double L : {1.0, 7.0, 1e6}) {
      const double direct = setting.risk(L);
      EXPECT_NEAR(value(AttentionKind::linear, L), direct, kMoments * direct) << d << ' ' << L;
    }
  }
  for (const Eigen::Index d : {1, 2}) {
    const Setting setting(static_cast<std::uint64_t>(d) + 8, d);
    const double direct = setting.risk_of_two();
    EXPECT_NEAR(
        general_risk(setting.problem, AttentionKind::linear, 2)->at(to_vector(setting.parameters)).value,
        direct, kMoments * direct);
  }
}

TEST(RiskMoments, InvariantRisks) {
  for (const Eigen::Index d : {1, 2, 3}) {
    Setting setting(static_cast<std::uint64_t>(d) + 11, d);
    const Vector point = test::random_invariant(static_cast<std::uint64_t>(d), d);
    setting.parameters = to_parameters(invariant_map(d)->map(point), d);
    for (const double L : {1.0, 7.0, 1e6, kInfinity}) {
      const double direct = setting.risk(L);
      EXPECT_NEAR(invariant_risk(setting.problem, AttentionKind::linear, L)->at(point).value, direct,
                  kMoments * direct);
    }
    const double limit = setting.risk(kInfinity);
    EXPECT_NEAR(invariant_risk(setting.problem, AttentionKind::softmax, kInfinity)->at(point).value, limit,
                kMoments * limit);
  }
}

// One token has all the weight, whatever its score, so the risk is ½ E (<v, z> - <w, x>)².
TEST(RiskMoments, SoftmaxOverOneToken) {
  const Setting setting(20, 2);
  const double direct = 0.5 * average(4, [&](const Vector& drawn) {
                          const Vector w = setting.roots.prior_root * drawn.head(2),
                                       x = setting.roots.query_root * drawn.tail(2);
                          return average(3, [&](const Vector& draw) {
                            Vector z(3);
                            z.head(2) = setting.roots.token_root * draw.head(2);
                            z[2] = w.dot(z.head(2)) + setting.roots.noise_deviation * draw[2];
                            return std::pow(setting.parameters.v.dot(z) - w.dot(x), 2);
                          });
                        });
  const RiskPoint point = general_risk(setting.problem, AttentionKind::softmax, 1, {.count = 1 << 16})
                              ->at(to_vector(setting.parameters));
  EXPECT_LE(std::abs(point.value - direct), point.error);
  EXPECT_LE(point.error, 2.5e-2 * direct);
}

TEST(RiskMoments, BadInput) {
  const RegressionProblem problem = test::random_problem(1, 2);
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const AttentionKind kind : {AttentionKind::softmax, AttentionKind::linear}) {
    for (const double bad : {0.0, 0.5, -1.0, 2e300, nan}) {
      EXPECT_THROW(invariant_risk(problem, kind, bad), InputError) << bad;
      EXPECT_THROW(general_risk(problem, kind, bad), InputError) << bad;
    }
    for (const double L : {10.0, kInfinity}) {
      for (const auto& risk : {invariant_risk(problem, kind, L), general_risk(problem, kind, L)}) {
        EXPECT_THROW(risk->at(Vector::Zero(risk->size() + 1)), InputError);
        EXPECT_THROW(risk->at(Vector::Constant(risk->size(), nan)), InputError);
        EXPECT_THROW(risk->at(Vector::Constant(risk->size(), kInfinity)), InputError);
        EXPECT_THROW(risk->at(Vector::Constant(risk->size(), 1e200)), InputError);  // overflows
      }
    }
  }
  const auto with = [&](auto change) {
    RegressionProblem changed = problem;
    change(changed);
    return changed;
  };
  for (const RegressionProblem& bad : {
           with([](RegressionProblem& p) { p.covariance(0, 0) = -1; }),
           with([](RegressionProblem& p) { p.query_covariance(0, 1) += 0.1; }),
           with([](RegressionProblem& p) { p.prior_covariance = Matrix::Identity(3, 3); }),
           with([](RegressionProblem& p) { p.noise_variance = -0.1; }),
           with([&](RegressionProblem& p) { p.noise_variance = nan; }),
           with([&](RegressionProblem& p) { p.score_scale = kInfinity; }),
           RegressionProblem{},
       }) {
    EXPECT_THROW(invariant_risk(bad, AttentionKind::softmax, 10), InputError);
    EXPECT_THROW(general_risk(bad, AttentionKind::softmax, 10), InputError);
    EXPECT_THROW(general_risk(bad, AttentionKind::linear, 10), InputError);
    EXPECT_THROW(bad.task(), InputError);
  }
}

}  // namespace
}  // namespace largo::risk_moments_test
