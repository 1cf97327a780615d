// The sampled Bayes predictor against posteriors on a fine grid, sums over finite priors, and ridge
// regression where prior and noise are Gaussian in disguise.
#include "largo/icl/bayes_risk.hpp"

#include <atomic>
#include <cmath>
#include <functional>
#include <numbers>
#include <vector>

#include <gtest/gtest.h>

#include "icl/prompt_tasks.hpp"
#include "largo/measures/affine.hpp"
#include "largo/measures/empirical.hpp"
#include "largo/measures/mixture.hpp"
#include "largo/runtime/check.hpp"

namespace largo::bayes_risk_test {
namespace {

using test::gaussian;

MeasurePtr one_dimensional(double variance) { return gaussian(Matrix::Constant(1, 1, variance)); }
MeasurePtr mixed(double weight, const MeasurePtr& first, const MeasurePtr& second) {
  return std::make_shared<MixtureMeasure>(Vector{{weight, 1 - weight}},
                                          std::vector<MeasurePtr>{first, second});
}
MeasurePtr product(Eigen::Index d, const CoordinateLawPtr& law) {
  return std::make_shared<ProductMeasure>(d, law);
}
MeasurePtr point(double x) {
  return std::make_shared<GaussianMeasure>(Vector::Constant(1, x), Matrix::Zero(1, 1));
}
MeasurePtr contaminated() { return mixed(0.9, one_dimensional(0.01), one_dimensional(9)); }

PromptSetting setting(RegressionLaws laws, double L, LossPtr loss = squared_loss()) {
  PromptSetting result{std::make_shared<LawRegression>(std::move(laws)), std::move(loss), L};
  result.sampling = PromptSampling::always;
  return result;
}

RowMatrix tokens_of(const PromptDraw& draw) {
  const ArrayView& view = dynamic_cast<const EmpiricalMeasure&>(*draw.tokens).tokens();
  return RowMatrix::NullaryExpr(view.rows, view.columns,
                                [&](Eigen::Index i, Eigen::Index j) { return view(i, j); });
}

double normal(double x, double variance) {
  return std::exp(-x * x / (2 * variance)) / std::sqrt(2 * std::numbers::pi * variance);
}

// Mean loss of the Bayes predictor over the draws of the setting, in one dimension, with the posterior on a
// grid of tasks. The best output of a convex loss is found on another grid.
double grid_risk(const PromptSetting& setting, std::int64_t prompts, double bound,
                 const std::function<double(double)>& prior, const std::function<double(double)>& noise) {
  constexpr int kTasks = 8001;
  double sum = 0;
  for (std::int64_t i = 0; i < prompts; ++i) {
    const PromptDraw draw = draw_prompt(setting, i);
    const RowMatrix tokens = tokens_of(draw);
    Vector logs(kTasks), targets(kTasks);
    for (int k = 0; k < kTasks; ++k) {
      const double w = bound * (2.0 * k / (kTasks - 1) - 1);
      targets[k] = w * draw.query[0];
      logs[k] = std::log(prior(w));
      for (Eigen::Index l = 0; l < tokens.rows(); ++l)
        logs[k] += std::log(noise(tokens(l, 1) - w * tokens(l, 0)));
    }
    Vector weights = (logs.array() - logs.maxCoeff()).exp();
    weights /= weights.sum();
    double output = weights.dot(targets);
    if (!setting.loss->quadratic_factor()) {
      // golden section on the posterior mean of the loss
      const auto cost = [&](double o) {
        return weights.dot(setting.loss->rows(RowMatrix::Constant(kTasks, 1, o), RowMatrix(targets)).values);
      };
      double low = targets.minCoeff(), high = targets.maxCoeff();
      const double ratio = (std::sqrt(5.0) - 1) / 2;
      for (int step = 0; step < 40; ++step) {
        const double a = high - ratio * (high - low), b = low + ratio * (high - low);
        (cost(a) < cost(b) ? high : low) = cost(a) < cost(b) ? b : a;
      }
      output = (low + high) / 2;
    }
    sum += setting.loss->rows(RowMatrix::Constant(1, 1, output), RowMatrix::Constant(1, 1, draw.target[0]))
               .values[0];
  }
  return sum / static_cast<double>(prompts);
}

// The sampled predictor differs from the exact one by its sampling noise, whose mean square is the excess;
// over the same prompts the difference of risks is the excess and a cross term, of standard deviation at most
// √(excess · risk/prompts) · 2 for the squared loss.
void expect_close(const BayesRisk& found, double exact) {
  const double spread = 2 * std::sqrt(std::abs(found.excess) * exact / static_cast<double>(found.prompts)) +
                        2 * std::abs(found.excess);
  EXPECT_GT(found.value, exact - 4 * spread - 0.01 * exact);
  // Samples may miss a mode of a posterior here and there.
  EXPECT_LT(found.value, 1.1 * exact + 4 * spread);
  EXPECT_LT(std::abs(found.excess), 0.05 * exact);
  EXPECT_EQ(found.poor, 0);
}

TEST(BayesRisk, AgreesWithAGrid) {
  const auto laplace = [](double w) { return std::abs(w) <= 4 ? std::exp(-std::abs(w) / 0.7) : 0; };
  const auto outliers = [](double e) { return 0.9 * normal(e, 0.01) + 0.1 * normal(e, 9); };
  const RegressionLaws laws{one_dimensional(1), nullptr, product(1, truncated_laplace(0.7, 4)),
                            contaminated()};
  for (const double L : {1.0, 4.0, 30.0}) {
    for (const LossPtr& loss : {squared_loss(), huber_loss(0.1), absolute_loss()}) {
      SCOPED_TRACE(L);
      const PromptSetting problem = setting(laws, L, loss);
      constexpr std::int64_t kPrompts = 100;
      expect_close(bayes_risk(problem, kPrompts).value(), grid_risk(problem, kPrompts, 4, laplace, outliers));
    }
  }
}

TEST(BayesRisk, AgreesWithAGridWhereDensitiesJump) {
  const RegressionLaws laws{one_dimensional(1), nullptr, product(1, uniform(1)), product(1, uniform(0.5))};
  const auto inside = [](double bound) {
    return [bound](double x) { return std::abs(x) <= bound ? 1.0 : 0.0; };
  };
  for (const double L : {3.0, 40.0}) {
    const PromptSetting problem = setting(laws, L);
    expect_close(bayes_risk(problem, 100).value(), grid_risk(problem, 100, 1, inside(1), inside(0.5)));
  }
}

TEST(BayesRisk, AveragesOverTheScaleOfTheNoise) {
  RegressionLaws laws{one_dimensional(1), nullptr, one_dimensional(1), one_dimensional(1)};
  laws.noise_scale = mixed(0.5, point(0.1), point(1));
  const PromptSetting problem = setting(laws, 3);
  // The grid knows neither: given the scale, tokens share it, so its posterior is a mixture of two.
  const auto risk = bayes_risk(problem, 200).value();
  double sum = 0;
  for (std::int64_t i = 0; i < 200; ++i) {
    const PromptDraw draw = draw_prompt(problem, i);
    const RowMatrix tokens = tokens_of(draw);
    double weight = 0, mean = 0;
    for (const double variance : {0.01, 1.0}) {
      // Given the scale all is Gaussian: evidence and posterior mean in closed form.
      const double precision = 1 + tokens.col(0).squaredNorm() / variance;
      const double along = tokens.col(0).dot(tokens.col(1)) / variance;
      const double evidence =
          std::exp(-tokens.col(1).squaredNorm() / (2 * variance) + along * along / (2 * precision)) *
          std::pow(variance, -1.5) / std::sqrt(precision);
      weight += evidence;
      mean += evidence * along / precision;
    }
    const double miss = mean / weight * draw.query[0] - draw.target[0];
    sum += miss * miss / 2;
  }
  expect_close(risk, sum / 200);
}

TEST(BayesRisk, FinitePriorsAreExact) {
  const RegressionLaws laws{gaussian(Matrix::Identity(2, 2)), nullptr, product(2, three_point(1, 0.5)),
                            one_dimensional(0.5)};
  const PromptSetting problem = setting(laws, 5);
  double sum = 0;
  for (std::int64_t i = 0; i < 50; ++i) {
    const PromptDraw draw = draw_prompt(problem, i);
    const RowMatrix tokens = tokens_of(draw);
    double total = 0, mean = 0;
    for (const double u : {-1, 0, 1}) {
      for (const double v : {-1, 0, 1}) {
        const Vector w{{u, v}};
        double p = (u == 0 ? 0.5 : 0.25) * (v == 0 ? 0.5 : 0.25);
        for (Eigen::Index l = 0; l < 5; ++l) p *= normal(tokens(l, 2) - tokens.row(l).head(2).dot(w), 0.5);
        total += p;
        mean += p * w.dot(draw.query.head(2));
      }
    }
    sum += std::pow(mean / total - draw.target[0], 2) / 2;
  }
  const BayesRisk found = bayes_risk(problem, 50).value();
  EXPECT_NEAR(found.value, sum / 50, 1e-13);
  EXPECT_EQ(found.excess, 0);
  EXPECT_EQ(found.poor, 0);
}

TEST(BayesRisk, IsThatOfRidgeForGaussiansInDisguise) {
  const Matrix prior = test::random_covariance(5, 4);
  const RegressionLaws laws{gaussian(test::random_covariance(6, 4)), nullptr,
                            mixed(0.5, gaussian(prior), gaussian(prior)),
                            mixed(0.3, one_dimensional(0.2), one_dimensional(0.2))};
  for (const double L : {2.0, 10.0, 200.0}) {
    SCOPED_TRACE(L);
    const PromptSetting problem = setting(laws, L);
    expect_close(bayes_risk(problem, 300).value(), learner_risk(problem, 300)->value);
  }
}

// The posterior of eight narrow modes: one proposal would see a few of them, and not miss the others.
TEST(BayesRisk, FindsSeveralModes) {
  constexpr double kVariance = 0.01, kNoise = 4;
  std::vector<MeasurePtr> modes;
  std::vector<Vector> centres;
  for (int k = 0; k < 8; ++k) {
    centres.push_back(3 * Vector{{k & 1 ? 1.0 : -1.0, k & 2 ? 1.0 : -1.0, k & 4 ? 1.0 : -1.0}});
    modes.push_back(std::make_shared<GaussianMeasure>(centres.back(), kVariance * Matrix::Identity(3, 3)));
  }
  const RegressionLaws laws{gaussian(Matrix::Identity(3, 3)), nullptr,
                            std::make_shared<MixtureMeasure>(Vector::Constant(8, 0.125), modes),
                            one_dimensional(kNoise)};
  const PromptSetting problem = setting(laws, 2);
  double sum = 0;
  for (std::int64_t i = 0; i < 200; ++i) {
    const PromptDraw draw = draw_prompt(problem, i);
    const RowMatrix tokens = tokens_of(draw);
    const Matrix X = tokens.leftCols(3);
    // Given the mode all is Gaussian.
    const Matrix S = kVariance * X * X.transpose() + kNoise * Matrix::Identity(2, 2);
    double total = 0, mean = 0;
    for (const Vector& centre : centres) {
      const Vector left = tokens.col(3) - X * centre;
      const Vector solved = S.llt().solve(left);
      const double p = std::exp(-0.5 * left.dot(solved));
      total += p;
      mean += p * draw.query.head(3).dot(centre + kVariance * X.transpose() * solved);
    }
    sum += std::pow(mean / total - draw.target[0], 2) / 2;
  }
  expect_close(bayes_risk(problem, 200).value(), sum / 200);
}

// With such outliers each token is a mode of its own, a thousand times as narrow as the prior.
TEST(BayesRisk, FindsTheTokensWithoutNoise) {
  const RegressionLaws laws{one_dimensional(1), nullptr, product(1, uniform(2)),
                            mixed(0.9, one_dimensional(1e-6), one_dimensional(1))};
  const auto noise = [](double e) { return 0.9 * normal(e, 1e-6) + 0.1 * normal(e, 1); };
  const PromptSetting problem = setting(laws, 4);
  const BayesRisk found = bayes_risk(problem, 60).value();
  const double exact = grid_risk(
      problem, 60, 2, [](double) { return 1.0; }, noise);
  EXPECT_NEAR(found.value, exact, 0.1 * exact + found.excess);
}

// Ridge regression without an intercept is not the Bayes predictor here, although all laws are Gaussian.
TEST(BayesRisk, GaussianLawsMayHaveMeans) {
  const MeasurePtr prior = std::make_shared<GaussianMeasure>(Vector{{5, 4}}, Matrix::Identity(2, 2));
  const MeasurePtr noise =
      std::make_shared<GaussianMeasure>(Vector::Constant(1, 1e6), Matrix::Identity(1, 1));
  const PromptSetting problem = setting({gaussian(Matrix::Identity(2, 2)), nullptr, prior, noise}, 4);
  double sum = 0;
  for (std::int64_t i = 0; i < 300; ++i) {
    const PromptDraw draw = draw_prompt(problem, i);
    const RowMatrix tokens = tokens_of(draw);
    const Matrix X = tokens.leftCols(2);
    const Vector left = (tokens.col(2) - X * prior->mean()).array() - 1e6;
    const Vector w =
        prior->mean() + (Matrix::Identity(2, 2) + X.transpose() * X).llt().solve(X.transpose() * left);
    sum += std::pow(w.dot(draw.query.head(2)) - draw.target[0], 2) / 2;
  }
  expect_close(bayes_risk(problem, 300).value(), sum / 300);
}

// Laws that are far wider than they are likely to be, noise that is nearly none, and prompts too short to
// tell.
TEST(BayesRisk, IsNotAboveRidge) {
  const MeasurePtr x = gaussian(Matrix::Identity(5, 5)), normals = gaussian(Matrix::Identity(5, 5));
  const RegressionLaws problems[] = {
      {x, nullptr, product(5, truncated_laplace(0.7, 1000)), one_dimensional(0.1)},
      {x, nullptr, normals, product(1, truncated_laplace(1e-9, 1e-7))},
      {x, nullptr, normals, product(1, truncated_laplace(0.01, 10))},
      {x, nullptr, product(5, truncated_laplace(1e8, 3e8)), product(1, truncated_laplace(1, 3))},
      {x, nullptr, product(5, uniform(1e-8)), product(1, uniform(1))},
      {x, nullptr,
       std::make_shared<AffineMeasure>(Matrix::Identity(5, 5), Vector::Constant(5, 7),
                                       product(5, uniform(1))),
       one_dimensional(1)}};
  for (const RegressionLaws& laws : problems) {
    for (const double L : {2.0, 10.0}) {
      const PromptSetting problem = setting(laws, L);
      const BayesRisk found = bayes_risk(problem, 100).value();
      EXPECT_LT(found.value, 1.05 * learner_risk(problem, 100)->value) << L;
      EXPECT_LT(found.poor, 0.1) << L;
    }
  }
}

// A loss whose best output is far from all targets, and one that takes sides.
class Stretched final : public Loss {
 public:
  LossPoint at(double output, double target) const override {
    const double r = output - 20 * target;
    return {r * r / 2, r};
  }
};
class Quantile final : public Loss {
 public:
  LossPoint at(double output, double target) const override {
    const double r = output - target;
    return r < 0 ? LossPoint{-0.9 * r, -0.9} : LossPoint{0.1 * r, 0.1};
  }
};

TEST(BayesRisk, TakesAnyConvexLoss) {
  const RegressionLaws laws{gaussian(Matrix::Identity(2, 2)), nullptr, product(2, truncated_laplace(1, 10)),
                            product(1, truncated_laplace(0.5, 5))};
  const double squared = bayes_risk(setting(laws, 20), 100)->value;
  EXPECT_NEAR(bayes_risk(setting(laws, 20, std::make_shared<Stretched>()), 100)->value, 400 * squared,
              0.02 * 400 * squared);
  // The 0.9 quantile of a Gaussian posterior with deviation t has the risk t φ(z), z its 0.9 quantile.
  const RegressionLaws normal_laws{one_dimensional(1), nullptr, one_dimensional(1), one_dimensional(1)};
  const PromptSetting problem = setting(normal_laws, 5, std::make_shared<Quantile>());
  double sum = 0;
  for (std::int64_t i = 0; i < 2000; ++i) {
    const PromptDraw draw = draw_prompt(problem, i);
    sum += std::abs(draw.query[0]) / std::sqrt(1 + tokens_of(draw).col(0).squaredNorm());
  }
  const BayesRisk found = bayes_risk(problem, 2000).value();
  EXPECT_NEAR(found.value, normal(1.2815515655446004, 1) * sum / 2000, 4 * found.error);
}

// Ridge regression cannot tell outliers from the rest.
TEST(BayesRisk, IsFarBelowRidgeWithOutliers) {
  const RegressionLaws laws{gaussian(Matrix::Identity(5, 5)), nullptr, product(5, truncated_laplace(0.7, 10)),
                            contaminated()};
  const PromptSetting problem = setting(laws, 100);
  const BayesRisk found = bayes_risk(problem, 200).value();
  EXPECT_LT(found.value, 0.1 * learner_risk(problem, 200)->value);
  EXPECT_LT(found.excess, 0.02 * found.value);
  EXPECT_EQ(found.poor, 0);
}

TEST(BayesRisk, SameBitsForAnyThreads) {
  const RegressionLaws laws{gaussian(Matrix::Identity(2, 2)), nullptr, product(2, truncated_laplace(0.7, 10)),
                            contaminated()};
  const PromptSetting problem = setting(laws, 7);
  const BayesRisk one = bayes_risk(problem, 40, {.threads = 1}).value();
  const BayesRisk three = bayes_risk(problem, 40, {.threads = 3}).value();
  EXPECT_EQ(one.value, three.value);
  EXPECT_EQ(one.error, three.error);
  EXPECT_EQ(one.excess, three.excess);
}

TEST(BayesRisk, StopsInTime) {
  const RegressionLaws laws{gaussian(Matrix::Identity(2, 2)), nullptr, product(2, truncated_laplace(0.7, 10)),
                            contaminated()};
  const std::atomic<bool> stop = true;
  EXPECT_THROW(bayes_risk(setting(laws, 1000), 1000, {.stop = &stop}), Stopped);
}

// A mixture of fixed values is a finite prior. No task explains the labels to the last digit here, so nothing
// is known of the posterior, and `poor` says so.
TEST(BayesRisk, SaysWhereNothingIsKnown) {
  const MeasurePtr prior = mixed(0.5, point(-1), point(0.3));
  const PromptSetting known = setting({one_dimensional(1), nullptr, prior, product(1, uniform(0.5))}, 20);
  const BayesRisk found = bayes_risk(known, 50).value();
  EXPECT_FALSE(found.is_sampled);
  EXPECT_LT(found.value, 1e-20);
  EXPECT_EQ(found.poor, 0);
  const MeasurePtr noise = std::make_shared<AffineMeasure>(Matrix::Identity(1, 1), Vector::Constant(1, 3),
                                                           product(1, uniform(1e-19)));
  const PromptSetting faint = setting({one_dimensional(1), nullptr, prior, noise}, 20);
  EXPECT_GT(bayes_risk(faint, 50)->poor, 0.2);
}

TEST(BayesRisk, NoneWhereThereIsNoneToSample) {
  const MeasurePtr x = gaussian(Matrix::Identity(2, 2)), laplace = product(2, truncated_laplace(1, 9));
  const MeasurePtr noise = one_dimensional(1);
  EXPECT_TRUE(bayes_risk(setting({x, nullptr, laplace, noise}, 4), 2));
  EXPECT_FALSE(bayes_risk(setting({x, nullptr, x, noise}, 4), 2));                           // ridge is it
  EXPECT_FALSE(bayes_risk(setting({x, nullptr, laplace, nullptr}, 4), 2));                   // no noise
  EXPECT_FALSE(bayes_risk(setting({x, nullptr, laplace, product(1, rademacher())}, 4), 2));  // no density
  EXPECT_FALSE(bayes_risk(setting({x, nullptr, std::make_shared<SphereMeasure>(2, 1), noise}, 4), 2));
  EXPECT_FALSE(bayes_risk(setting({x, nullptr, laplace, x, nullptr, 2}, 4), 2));  // two outputs
  EXPECT_FALSE(bayes_risk(setting({x, nullptr, laplace, noise}, test::kInfinity), 2));
  EXPECT_FALSE(bayes_risk({test::classification(), logistic_loss(), 4.0}, 2));
  EXPECT_THROW(bayes_risk(setting({x, nullptr, laplace, noise}, 4), 1), InputError);
}

}  // namespace
}  // namespace largo::bayes_risk_test
