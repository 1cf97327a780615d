// The assumptions against quadrature and simulation written here, and against laws for which they fail.
#include "largo/concentration/assumptions.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include <gtest/gtest.h>

#include "concentration/layers.hpp"
#include "largo/measures/affine.hpp"
#include "largo/measures/elliptical.hpp"
#include "largo/measures/empirical.hpp"
#include "largo/measures/independent_pair.hpp"
#include "largo/measures/mixture.hpp"
#include "largo/measures/product.hpp"
#include "largo/measures/sphere.hpp"
#include "largo/runtime/check.hpp"
#include "support/sampled_mean.hpp"

namespace largo::assumptions_test {
namespace {

using test::random_matrix;
using test::random_vector;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kClosed = 1e-12;  // of closed forms, relative
constexpr double kTrapezoidal =
    1e-9;  // of the rules below, whose step is a thirtieth of a standard deviation

Assumption row(const std::vector<Assumption>& rows, const std::string& name) {
  const auto found =
      std::find_if(rows.begin(), rows.end(), [&](const Assumption& one) { return one.name == name; });
  EXPECT_NE(found, rows.end()) << name;
  return *found;
}

std::vector<Assumption> ask(const MeasurePtr& tokens, const Matrix& U, const Queries& queries) {
  return assumptions({tokens, U, Matrix::Identity(1, tokens->dimension()), queries});
}

MeasurePtr gaussian(const Vector& mean, const Matrix& covariance) {
  return std::make_shared<GaussianMeasure>(mean, covariance);
}
MeasurePtr line(double mean, double variance) {
  return gaussian(Vector::Constant(1, mean), Matrix::Constant(1, 1, variance));
}

/// ∫ f over a normal density, by the trapezoidal rule.
template <typename F>
double over_normal(double mean, double variance, const F& f) {
  constexpr double kStep = 1.0 / 30, kEnd = 25;
  double sum = 0;
  for (double g = -kEnd; g <= kEnd; g += kStep)
    sum += kStep / std::sqrt(2 * M_PI) * std::exp(-g * g / 2) * f(mean + std::sqrt(variance) * g);
  return sum;
}

/// E|x|^k under the tilt of a density on the line by e^{ax}.
template <typename Density>
double tilted_moment(const Density& density, double low, double high, double a, int k) {
  constexpr int kPoints = 200000;
  const double step = (high - low) / kPoints;
  double mass = 0, moment = 0;
  for (int i = 0; i <= kPoints; ++i) {
    const double x = low + i * step, end = i == 0 || i == kPoints ? 0.5 : 1;
    const double weight = end * density(x) * std::exp(a * x);
    mass += weight;
    moment += weight * std::pow(std::abs(x), k);
  }
  return moment / mass;
}

/// Λ(a) = −ln(1 − ‖a‖²), infinite from ‖a‖ = 1 on: Laplace tokens in one dimension, whose density is
/// e^{-|x|}/2.
class HeavyTails final : public Measure {
 public:
  explicit HeavyTails(std::ptrdiff_t d) : Measure(d) {}
  double log_partition(const ConstVectorRef& a) const override {
    const double square = a.squaredNorm();
    return square < 1 ? -std::log1p(-square) : kInfinity;
  }
};

/// Minus an exponential variable: Λ(a) = −ln(1 + a), infinite from a = −1 down.
class OneSided final : public Measure {
 public:
  OneSided() : Measure(1) {}
  double log_partition(const ConstVectorRef& a) const override {
    return a[0] > -1 ? -std::log1p(a[0]) : kInfinity;
  }
};

/// Λ of Cauchy tokens: infinite everywhere but at zero.
class NoMoments final : public Measure {
 public:
  explicit NoMoments(std::ptrdiff_t d) : Measure(d) {}
  double log_partition(const ConstVectorRef& a) const override { return a.isZero(0) ? 0 : kInfinity; }
};

class NotANumber final : public Measure {
 public:
  NotANumber() : Measure(1) {}
  double log_partition(const ConstVectorRef& a) const override { return a.isZero(0) ? 0 : std::nan(""); }
};

/// A law of which largo knows only Λ.
class OnlyValues final : public Measure {
 public:
  explicit OnlyValues(MeasurePtr law) : Measure(law->dimension()), law_(std::move(law)) {}
  double log_partition(const ConstVectorRef& a) const override { return law_->log_partition(a); }

 private:
  MeasurePtr law_;
};

TEST(Assumptions, GaussianTokensUnderGaussianQueriesOnTheLine) {
  const double m = 0.3, gamma = 0.8, u = 0.6, mq = -0.4, q = 0.5;
  const auto rows = ask(line(m, gamma), Matrix::Constant(1, 1, u), line(mq, q));
  for (const int k : {4, 8}) {
    const double moment = over_normal(mq, q, [&](double z) {
      return over_normal(m + gamma * u * z, gamma, [&](double x) { return std::pow(x, k); });
    });
    const Assumption found = row(rows, "tilted_moment_" + std::to_string(k));
    EXPECT_NEAR(*found.value / moment, 1, kTrapezoidal);
    EXPECT_EQ(found.kind, ValueKind::exact);
    EXPECT_EQ(found.holds, Holds::yes);
  }
  // ρ from its definition: Λ(a) = am + a²γ/2
  const auto lambda = [&](double a) { return a * m + a * a * gamma / 2; };
  const double rho =
      over_normal(mq, q, [&](double z) { return std::exp(lambda(2 * u * z) - 2 * lambda(u * z)); });
  EXPECT_NEAR(*row(rows, "finite_rho").value, std::log(rho), kTrapezoidal);
  EXPECT_EQ(row(rows, "finite_rho").kind, ValueKind::exact);
  EXPECT_EQ(row(rows, "centred_tokens").holds, Holds::no);
  EXPECT_DOUBLE_EQ(*row(rows, "centred_tokens").value, m);
  EXPECT_DOUBLE_EQ(*row(rows, "sub_gaussian_tokens").value, std::sqrt(gamma));
}

// In three dimensions, by simulation: z, then a token of the tilted law. Five standard errors: false alarms
// 6e-7.
TEST(Assumptions, MomentsOfGaussianTokensBySimulation) {
  constexpr int kDraws = 400000;
  const Matrix root = random_matrix(3, 2, 1), query_root = random_matrix(4, 4, 2),
               U = 0.5 * random_matrix(3, 4, 3);
  const Vector m = 0.3 * random_vector(3, 4), mq = random_vector(4, 5);
  const Matrix Gamma = root * root.transpose();  // singular
  const auto rows = ask(gaussian(m, Gamma), U, gaussian(mq, query_root * query_root.transpose()));
  Matrix draws(6, kDraws);
  Stream(5, 0).normals(0, {draws.data(), static_cast<std::size_t>(draws.size())});
  for (const int k : {4, 8}) {
    test::SampledMean simulated;
    for (int i = 0; i < kDraws; ++i) {
      const Vector z = mq + query_root * draws.col(i).head(4);
      const Vector x = m + Gamma * (U * z) + root * draws.col(i).tail(2);
      simulated.add(std::pow(x.norm(), k));
    }
    const double found = *row(rows, "tilted_moment_" + std::to_string(k)).value;
    EXPECT_LE(std::abs(found - simulated.value()), 5 * simulated.error());
    EXPECT_LE(simulated.error(), 0.1 * simulated.value());  // the simulation says something
  }
}

TEST(Assumptions, TheAverageOfRhoDecides) {
  const MeasurePtr queries = test::standard_gaussian(2);
  const Matrix I = Matrix::Identity(2, 2);
  const Assumption finite = row(ask(gaussian(Vector::Zero(2), 0.49 * I), I, queries), "finite_rho");
  EXPECT_EQ(finite.holds, Holds::yes);
  EXPECT_NEAR(*finite.value, -std::log(1 - 0.98), kClosed / 0.02);
  const Assumption infinite = row(ask(gaussian(Vector::Zero(2), 0.51 * I), I, queries), "finite_rho");
  EXPECT_EQ(infinite.holds, Holds::no);
  EXPECT_EQ(*infinite.value, kInfinity);
  EXPECT_NE(infinite.where.find("1.02 > 1"), std::string::npos) << infinite.where;
  EXPECT_NE(infinite.note.find("0.9804"), std::string::npos) << infinite.note;
  // On the boundary it is infinite, but rounding could have moved 2λ either way.
  EXPECT_EQ(row(ask(gaussian(Vector::Zero(2), 0.5 * I), I, queries), "finite_rho").holds, Holds::unknown);
}

// A mixture is decided by its widest component, and its bound is above the average, by quadrature.
TEST(Assumptions, RhoOfMixtures) {
  const auto mixture = [](double wide) {
    return std::make_shared<MixtureMeasure>(Vector{{0.3, 0.7}},
                                            std::vector<MeasurePtr>{line(1, wide), line(-0.5, 0.05)});
  };
  const Matrix one = Matrix::Identity(1, 1);
  const auto law = mixture(0.4);
  const auto rows = ask(law, one, line(0, 1));
  const double rho = over_normal(0, 1, [&](double z) {
    const Vector a = Vector::Constant(1, z);
    return std::exp(law->log_partition(2 * a) - 2 * law->log_partition(a));
  });
  EXPECT_EQ(row(rows, "finite_rho").holds, Holds::yes);
  EXPECT_EQ(row(rows, "finite_rho").kind, ValueKind::at_most);
  EXPECT_GE(*row(rows, "finite_rho").value, std::log(rho));
  EXPECT_EQ(row(ask(mixture(0.6), one, line(0, 1)), "finite_rho").holds, Holds::no);
  EXPECT_EQ(row(rows, "gaussian_tokens").holds, Holds::no);
  EXPECT_EQ(row(rows, "bounded_tokens").holds, Holds::no);
  // At a query the moments of Gaussian mixtures are exact.
  const auto density = [&](double x) {
    const auto normal = [x](double m, double v) {
      return std::exp(-(x - m) * (x - m) / (2 * v)) / std::sqrt(v);
    };
    return 0.3 * normal(1, 0.4) + 0.7 * normal(-0.5, 0.05);
  };
  const auto at = ask(law, one, Vector(Vector::Constant(1, 2.0)));
  EXPECT_NEAR(*row(at, "tilted_moment_4").value / tilted_moment(density, -15, 15, 2, 4), 1, kTrapezoidal);
  EXPECT_NEAR(*row(at, "tilted_moment_8").value / tilted_moment(density, -15, 15, 2, 8), 1, kTrapezoidal);
  EXPECT_EQ(row(at, "tilted_moment_8").kind, ValueKind::exact);
}

// A random radius: W uniform on [0, 1] behaves like its largest value.
TEST(Assumptions, RhoOfEllipticalLaws) {
  for (const double scale : {0.4, 0.6}) {
    const auto law = std::make_shared<EllipticalMeasure>(Matrix::Constant(1, 1, scale),
                                                         EllipticalBase::gaussian, RadialLaw::uniform(0, 1));
    const Assumption found = row(ask(law, Matrix::Identity(1, 1), line(0, 1)), "finite_rho");
    EXPECT_EQ(found.holds, scale < 0.5 ? Holds::yes : Holds::no);
    if (scale > 0.5) continue;
    const double rho = over_normal(0, 1, [&](double z) {
      const Vector a = Vector::Constant(1, z);
      return std::exp(law->log_partition(2 * a) - 2 * law->log_partition(a));
    });
    EXPECT_GE(*found.value, std::log(rho));
  }
}

// A largest radius that hardly ever occurs decides all the same, and its bound is above the average.
TEST(Assumptions, RhoOfRareRadii) {
  for (const double rare : {1e-6, 1e-14, 1e-60}) {
    const auto law =
        std::make_shared<EllipticalMeasure>(Matrix::Constant(1, 1, 0.1), EllipticalBase::gaussian,
                                            RadialLaw::discrete(Vector{{1, 4.5}}, Vector{{1, rare}}));
    const Assumption found = row(ask(law, Matrix::Identity(1, 1), line(0, 1)), "finite_rho");
    EXPECT_EQ(found.holds, Holds::yes) << rare;
    EXPECT_NE(found.where.find("= 0.9 < 1"), std::string::npos) << found.where;
    const double rho = over_normal(0, 1, [&](double z) {
      const Vector a = Vector::Constant(1, z);
      return std::exp(law->log_partition(2 * a) - 2 * law->log_partition(a));
    });
    EXPECT_GE(found.value.value(), std::log(rho)) << rare;
    const auto wider =
        std::make_shared<EllipticalMeasure>(Matrix::Constant(1, 1, 0.12), EllipticalBase::gaussian,
                                            RadialLaw::discrete(Vector{{1, 4.5}}, Vector{{1, rare}}));
    EXPECT_EQ(row(ask(wider, Matrix::Identity(1, 1), line(0, 1)), "finite_rho").holds, Holds::no) << rare;
  }
}

// Squares of these scores overflow, which changes no answer and no text.
TEST(Assumptions, ScoresWhoseSquaresOverflow) {
  const Matrix U = Matrix::Constant(1, 1, 1e200);
  const Assumption rho = row(ask(line(0, 1), U, line(0, 1)), "finite_rho");
  EXPECT_EQ(rho.holds, Holds::no);
  EXPECT_EQ(rho.where,
            "|Γ^½ U Σ^½| = 1e+200, twice the square of which is > 1, with Σ the covariance of the queries");
  EXPECT_NE(rho.note.find("θ < 1/(2|Γ^½ U Σ^½|²)"), std::string::npos) << rho.note;
  const Assumption small = row(ask(line(0, 1e-300), Matrix::Constant(1, 1, 1e149), line(0, 1)), "finite_rho");
  EXPECT_EQ(small.holds, Holds::yes);
  EXPECT_NEAR(*small.value, -0.5 * std::log(0.98), kClosed);
  // ρ of bounded tokens has an average under every U.
  const auto coins = std::make_shared<ProductMeasure>(1, rademacher());
  const Assumption bounded = row(ask(coins, U, line(0, 1)), "finite_rho");
  EXPECT_EQ(bounded.holds, Holds::yes);
  EXPECT_FALSE(bounded.value.has_value());
  EXPECT_NE(bounded.note.find("float64"), std::string::npos) << bounded.note;
}

// The variance shows that σ is above 1 where only a bound on σ is known.
TEST(Assumptions, QueriesOfLargeVariance) {
  const Matrix one = Matrix::Identity(1, 1);
  const auto queries = [&](double scale) {
    return row(
        ask(line(0, 1), one, std::make_shared<const EmpiricalMeasure>(RowMatrix{{-scale}, {0}, {scale}})),
        "sub_gaussian_queries");
  };
  EXPECT_EQ(queries(2).holds, Holds::no);
  EXPECT_NE(queries(2).where.find("2.66667 > 1"), std::string::npos) << queries(2).where;
  EXPECT_EQ(queries(1.1).kind, ValueKind::at_most);  // variance 0.807, and |z| <= 1.1
  EXPECT_EQ(queries(1.1).holds, Holds::unknown);
  EXPECT_EQ(queries(1).holds, Holds::yes);
}

// A mean within rounding is taken for zero, and the row says so.
TEST(Assumptions, MeansWithinRounding) {
  const Matrix one = Matrix::Identity(1, 1);
  const auto centred = [&](double mean) {
    return row(ask(line(mean, 4), one, line(0, 1)), "centred_tokens");
  };
  EXPECT_EQ(centred(0).holds, Holds::yes);
  EXPECT_EQ(centred(0).note, "");
  EXPECT_EQ(centred(1.9e-12).holds, Holds::yes);
  EXPECT_NE(centred(1.9e-12).note.find("below 1e-12 of the spread 2"), std::string::npos)
      << centred(1.9e-12).note;
  EXPECT_EQ(centred(2.1e-12).holds, Holds::no);
}

// Bounds are above what quadrature finds, at queries and over laws of queries.
TEST(Assumptions, BoundsOfBoundedTokens) {
  const auto law = std::make_shared<ProductMeasure>(1, truncated_laplace(0.6, 5));
  const auto density = [](double x) { return std::exp(-std::abs(x) / 0.6); };
  const Matrix U = Matrix::Constant(1, 1, 0.7);
  for (const double z : {0.0, 1.5, -4.0}) {
    const auto rows = ask(law, U, Vector(Vector::Constant(1, z)));
    for (const int k : {4, 8}) {
      const double moment = tilted_moment(density, -5, 5, 0.7 * z, k);
      const Assumption found = row(rows, "tilted_moment_" + std::to_string(k));
      EXPECT_EQ(found.kind, ValueKind::at_most);
      EXPECT_GE(*found.value, moment * (1 - kTrapezoidal));
      EXPECT_LE(*found.value, 20 * moment);  // not idle
    }
  }
  const auto rows = ask(law, U, line(0, 4));
  const double rho = over_normal(0, 4, [&](double z) {
    const Vector a = Vector::Constant(1, 0.7 * z);
    return std::exp(law->log_partition(2 * a) - 2 * law->log_partition(a));
  });
  EXPECT_EQ(row(rows, "finite_rho").holds, Holds::yes);
  EXPECT_GE(*row(rows, "finite_rho").value, std::log(rho));
  EXPECT_DOUBLE_EQ(*row(rows, "bounded_tokens").value, 5);
  EXPECT_NEAR(*row(rows, "tilted_moment_8").value / std::pow(5, 8), 1, 2 * kClosed);  // a bound: rounded up
  EXPECT_EQ(row(rows, "sub_gaussian_queries").holds, Holds::no);
  EXPECT_NE(row(rows, "sub_gaussian_queries").note.find("divided by 2"), std::string::npos);
}

// The constants of the paper do not depend on the queries, so that the mean of these counts.
TEST(Assumptions, QueriesAwayFromZeroAreNotDecided) {
  const Matrix one = Matrix::Identity(1, 1);
  const auto holds = [&](const Queries& queries) {
    return row(ask(line(0, 1), one, queries), "sub_gaussian_queries").holds;
  };
  EXPECT_EQ(holds(Vector(Vector::Zero(1))), Holds::yes);
  EXPECT_EQ(holds(Vector(Vector::Constant(1, 100))), Holds::unknown);
  EXPECT_EQ(holds(line(0, 1)), Holds::yes);
  EXPECT_EQ(holds(line(50, 1)), Holds::unknown);
  EXPECT_EQ(holds(line(50, 4)), Holds::no);
}

// A component that the tilt leaves nothing of may have moments beyond all doubles.
TEST(Assumptions, ComponentsWithoutWeightDoNotCount) {
  const auto far =
      std::make_shared<MixtureMeasure>(Vector::Ones(2), std::vector<MeasurePtr>{line(0, 1), line(-1e45, 1)});
  const auto rows = ask(far, Matrix::Identity(1, 1), Vector(Vector::Ones(1)));
  EXPECT_NEAR(*row(rows, "tilted_moment_4").value, 10, 1e-9);  // of N(1, 1)
}

// The bound that knows only σ, for a pair of which no more is known: above the moments by simulation,
// whatever the queries.
TEST(Assumptions, MomentsFromTheSubGaussianConstantAlone) {
  constexpr int kDraws = 100000;
  const auto law =
      std::make_shared<IndependentPair>(std::make_shared<ProductMeasure>(1, rademacher()),
                                        std::make_shared<GaussianMeasure>(GaussianMeasure::standard(1)));
  const Matrix U = 1.5 * Matrix::Identity(2, 2);
  const auto rows = ask(law, U, test::standard_gaussian(2));
  double fourth = 0, eighth = 0;
  Matrix draws(3, kDraws);
  Stream(6, 0).normals(0, {draws.data(), static_cast<std::size_t>(draws.size())});
  for (int i = 0; i < kDraws; ++i) {  // ±1 has norm 1 under every tilt
    const double y = 1.5 * draws(1, i) + draws(2, i), square = 1 + y * y;
    fourth += std::pow(square, 2) / kDraws;
    eighth += std::pow(square, 4) / kDraws;
  }
  EXPECT_EQ(row(rows, "tilted_moment_8").holds, Holds::yes);
  EXPECT_GE(*row(rows, "tilted_moment_4").value, fourth);
  EXPECT_GE(*row(rows, "tilted_moment_8").value, eighth);
  EXPECT_LE(*row(rows, "tilted_moment_4").value, 1e3 * fourth);
  EXPECT_EQ(row(rows, "gaussian_tokens").holds, Holds::unknown);
}

constexpr int kLaws = 9;
MeasurePtr some_law(int kind, std::ptrdiff_t d, std::uint64_t id) {
  const Matrix root = random_matrix(d, d, id);
  const MeasurePtr normal = gaussian(random_vector(d, id + 1), root * root.transpose());
  switch (kind) {
    case 0: return normal;
    case 1:
      return std::make_shared<MixtureMeasure>(
          Vector{{0.3, 0.7}}, std::vector<MeasurePtr>{normal, std::make_shared<SphereMeasure>(d, 2)});
    case 2:
      return std::make_shared<EllipticalMeasure>(root * root.transpose(), EllipticalBase::gaussian,
                                                 RadialLaw::uniform(0.1, 1));
    case 3:
      return std::make_shared<EllipticalMeasure>(root * root.transpose(), EllipticalBase::sphere,
                                                 RadialLaw::discrete(Vector{{0.2, 2}}, Vector{{0.8, 0.2}}));
    case 4: return std::make_shared<BallMeasure>(d, 1.5);
    case 5: return std::make_shared<ProductMeasure>(d, three_point(2, 0.1));
    case 6:
      return std::make_shared<AffineMeasure>(random_matrix(d, d + 1, id), random_vector(d, id + 1),
                                             std::make_shared<ProductMeasure>(d + 1, centred_bernoulli(0.2)));
    case 7: return std::make_shared<EmpiricalMeasure>(RowMatrix(random_matrix(20, d, id)));
    default:
      return std::make_shared<IndependentPair>(std::make_shared<ProductMeasure>(1, uniform(1)),
                                               some_law(0, d - 1, id));
  }
}

// Every law of tokens under every law of queries: averages over drawn queries, less five standard errors, are
// below the bounds. (E‖z'‖²)² is known from the tilt and at most E‖z'‖⁴; its square is at most E‖z'‖⁸.
TEST(Assumptions, BoundsAreAboveAveragesOverDrawnQueries) {
  constexpr int kQueries = 1000;
  constexpr Eigen::Index d = 2;
  int decided = 0;
  for (int tokens = 0; tokens < kLaws; ++tokens) {
    for (int queries = 0; queries < kLaws; ++queries) {
      SCOPED_TRACE(::testing::Message() << "tokens " << tokens << ", queries " << queries);
      const auto id = static_cast<std::uint64_t>(100 * tokens + 10 * queries);
      const MeasurePtr law = some_law(tokens, d, id), asked = some_law(queries, d, id + 5);
      const Matrix U = 0.4 * random_matrix(d, d, id + 7);
      const auto rows = ask(law, U, asked);
      EXPECT_EQ(row(rows, "tilted_moment_4").holds, Holds::yes);
      EXPECT_EQ(row(rows, "tilted_moment_8").holds, Holds::yes);
      const RowMatrix drawn = sample_prompt(*asked, Stream(8, id), kQueries);
      Matrix values(3, kQueries);
      for (int i = 0; i < kQueries; ++i) {
        const Vector a = U * drawn.row(i).transpose();
        const Tilt tilt = law->tilt(a, TiltOrder::covariance);
        const double second = tilt.covariance.trace() + tilt.mean.squaredNorm();
        values.col(i) << std::pow(second, 2), std::pow(second, 4),
            std::exp(law->log_partition(2 * a) - 2 * tilt.log_partition);
      }
      const Vector mean = values.rowwise().mean();
      const Vector error = ((values.colwise() - mean).array().square().rowwise().mean() / kQueries).sqrt();
      const Vector least = (1 - kTrapezoidal) * (mean - 5 * error);
      EXPECT_GE(*row(rows, "tilted_moment_4").value, least[0]);
      EXPECT_GE(*row(rows, "tilted_moment_8").value, least[1]);
      const Assumption rho = row(rows, "finite_rho");
      if (rho.holds == Holds::yes) {
        EXPECT_GE(*rho.value, std::log(std::max(1e-300, least[2])));
      }
      decided += rho.holds != Holds::unknown ? 1 : 0;
    }
  }
  EXPECT_GE(decided, 70);  // of 81: what is known of a pair is its σ
}

TEST(Assumptions, APromptHasItsSums) {
  const RowMatrix tokens = random_matrix(7, 2, 8);
  const Vector weights{{1, 2, 3, 4, 0, 1, 2}};
  const auto law = std::make_shared<EmpiricalMeasure>(tokens, weights);
  const RowMatrix queries{{1, 0}, {0, 0}, {-2, 3}};
  const Matrix U = random_matrix(2, 2, 9);
  const auto rows = ask(law, U, std::make_shared<const EmpiricalMeasure>(queries));
  double mean = 0, log_largest = 0;
  for (int q = 0; q < 3; ++q) {
    double mass = 0, moment = 0, twice = 0;
    for (int i = 0; i < 7; ++i) {
      const double score = tokens.row(i) * U * queries.row(q).transpose();
      mass += weights[i] / 13 * std::exp(score);
      twice += weights[i] / 13 * std::exp(2 * score);
      moment += weights[i] / 13 * std::exp(score) * std::pow(tokens.row(i).norm(), 8);
    }
    mean += moment / mass / 3;
    log_largest = std::max(log_largest, std::log(twice / (mass * mass)));
    EXPECT_NEAR(row(rows, "tilted_moment_8").at_queries[static_cast<std::size_t>(q)] / (moment / mass), 1,
                1e-11);
  }
  EXPECT_NEAR(*row(rows, "tilted_moment_8").value / mean, 1, 1e-11);
  EXPECT_EQ(row(rows, "tilted_moment_8").kind, ValueKind::exact);
  const std::vector<double> rhos = row(rows, "finite_rho").at_queries;
  EXPECT_NEAR(*std::max_element(rhos.begin(), rhos.end()), log_largest, 1e-12);
  EXPECT_EQ(rhos[1], 0);  // the query 0
}

TEST(Assumptions, LargeScoresDoNotOverflow) {
  const auto rows = ask(gaussian(Vector::Zero(1), Matrix::Constant(1, 1, 1e8)), Matrix::Identity(1, 1),
                        Vector(Vector::Constant(1, 3.0)));
  EXPECT_DOUBLE_EQ(*row(rows, "finite_rho").value, 9e8);
  EXPECT_EQ(row(rows, "finite_rho").holds, Holds::yes);
  EXPECT_THROW(ask(gaussian(Vector::Zero(1), Matrix::Constant(1, 1, 1e200)), Matrix::Identity(1, 1),
                   Vector(Vector::Constant(1, 1e100))),
               InputError);
}

// Powers of tiny tokens vanish in float64; a bound must not.
TEST(Assumptions, TinyTokens) {
  const auto law = std::make_shared<ProductMeasure>(2, three_point(1e-50, 0.5));
  for (const Queries& queries : {Queries(Vector(Vector::Ones(2))), Queries(test::standard_gaussian(2))}) {
    const Assumption eighth = row(ask(law, Matrix::Identity(2, 2), queries), "tilted_moment_8");
    EXPECT_EQ(eighth.holds, Holds::yes);
    EXPECT_GT(*eighth.value, 0);
    EXPECT_LT(*eighth.value, 1e-300);
    EXPECT_GT(*row(ask(law, Matrix::Identity(2, 2), queries), "finite_rho").value, 0);
  }
}

// A query of probability zero counts for nothing.
TEST(Assumptions, WeightedQueries) {
  const RowMatrix queries{{0.1}, {3}};
  const auto rows = ask(std::make_shared<HeavyTails>(1), Matrix::Identity(1, 1),
                        std::make_shared<const EmpiricalMeasure>(queries, Vector{{1, 0}}));
  EXPECT_EQ(row(rows, "finite_log_partition").holds, Holds::yes);
  EXPECT_NEAR(*row(rows, "finite_rho").value, -std::log1p(-0.04) + 2 * std::log1p(-0.01), 1e-12);
  EXPECT_EQ(row(rows, "tilted_moment_8").holds, Holds::yes);
}

TEST(Assumptions, ALawWhoseLambdaIsInfiniteBeyondARadius) {
  const auto law = std::make_shared<HeavyTails>(1);
  const Matrix one = Matrix::Identity(1, 1);
  const auto inside = ask(law, one, Vector(Vector::Constant(1, 0.4)));
  EXPECT_EQ(row(inside, "sub_gaussian_tokens").holds, Holds::no);
  EXPECT_EQ(*row(inside, "sub_gaussian_tokens").value, kInfinity);
  EXPECT_EQ(row(inside, "large_sigma").holds, Holds::no);
  EXPECT_EQ(row(inside, "bounded_tokens").holds, Holds::no);
  EXPECT_EQ(row(inside, "gaussian_tokens").holds, Holds::no);
  EXPECT_EQ(row(inside, "finite_log_partition").holds, Holds::yes);
  EXPECT_NEAR(*row(inside, "finite_log_partition").value, 1, 1e-8);
  EXPECT_EQ(row(inside, "finite_rho").holds, Holds::yes);
  EXPECT_NEAR(*row(inside, "finite_rho").value, -std::log1p(-0.64) + 2 * std::log1p(-0.16), 1e-12);
  const auto density = [](double x) { return std::exp(-std::abs(x)); };
  for (const int k : {4, 8}) {
    const double moment = tilted_moment(density, -100, 100, 0.4, k);
    EXPECT_GE(*row(inside, "tilted_moment_" + std::to_string(k)).value, moment);
    EXPECT_LE(*row(inside, "tilted_moment_" + std::to_string(k)).value, 100 * moment);
  }
  // Λ(a) is finite and Λ(2a) is not.
  const auto between = ask(law, one, Vector(Vector::Constant(1, 0.7)));
  EXPECT_EQ(row(between, "finite_log_partition").holds, Holds::yes);
  EXPECT_EQ(row(between, "tilted_moment_8").holds, Holds::yes);
  EXPECT_EQ(row(between, "finite_rho").holds, Holds::no);
  EXPECT_NE(row(between, "finite_rho").where.find("|a| = 0.7"), std::string::npos);
  // Next to the boundary the differences of a tilt reach beyond it; the bound from values of Λ does not.
  EXPECT_EQ(row(ask(law, one, Vector(Vector::Constant(1, 0.999))), "tilted_moment_8").holds, Holds::yes);
  // Beyond, attention is not defined.
  const RowMatrix queries{{0.1}, {3}};
  const auto beyond = ask(law, one, std::make_shared<const EmpiricalMeasure>(queries));
  for (const char* name : {"finite_log_partition", "tilted_moment_4", "tilted_moment_8", "finite_rho"}) {
    EXPECT_EQ(row(beyond, name).holds, Holds::no) << name;
    EXPECT_NE(row(beyond, name).where.find("query 1"), std::string::npos) << row(beyond, name).where;
  }
  // Gaussian queries get there; those of a ball within the radius are not proved to stay where Λ is finite.
  for (const char* name : {"finite_log_partition", "tilted_moment_4", "tilted_moment_8", "finite_rho"}) {
    EXPECT_EQ(row(ask(law, one, line(0, 0.01)), name).holds, Holds::no) << name;
    EXPECT_EQ(row(ask(law, one, std::make_shared<SphereMeasure>(1, 0.3)), name).holds, Holds::unknown)
        << name;
  }
}

TEST(Assumptions, ALawWithOneHeavyTail) {
  const auto rows =
      ask(std::make_shared<OneSided>(), Matrix::Identity(1, 1), Vector(Vector::Constant(1, 5.0)));
  EXPECT_EQ(row(rows, "sub_gaussian_tokens").holds, Holds::no);
  EXPECT_NE(row(rows, "sub_gaussian_tokens").where.find("a = (-1), |a| = 1 on"), std::string::npos);
  EXPECT_EQ(row(rows, "finite_log_partition").holds, Holds::yes);
  EXPECT_NEAR(*row(rows, "finite_rho").value, -std::log(11.0) + 2 * std::log(6.0), 1e-12);
  // Minus an exponential variable of rate 6: moments k!/6^k.
  EXPECT_GE(*row(rows, "tilted_moment_4").value, 24 / std::pow(6, 4));
  EXPECT_LE(*row(rows, "tilted_moment_4").value, 100 * 24 / std::pow(6, 4));
}

TEST(Assumptions, ALawWithoutExponentialMoments) {
  const auto rows = ask(std::make_shared<NoMoments>(2), Matrix::Identity(2, 2), test::standard_gaussian(2));
  EXPECT_EQ(row(rows, "sub_gaussian_tokens").holds, Holds::no);
  EXPECT_EQ(row(rows, "finite_log_partition").holds, Holds::no);
  EXPECT_EQ(row(rows, "centred_tokens").holds, Holds::unknown);
  const auto zero = ask(std::make_shared<NoMoments>(2), Matrix::Identity(2, 2), Vector(Vector::Zero(2)));
  EXPECT_EQ(row(zero, "finite_log_partition").holds, Holds::yes);
  EXPECT_EQ(row(zero, "tilted_moment_4").holds, Holds::unknown);
  EXPECT_THROW(ask(std::make_shared<NotANumber>(), Matrix::Identity(1, 1), Vector(Vector::Ones(1))),
               InputError);
}

// Values of Λ at points prove nothing about a law as a whole.
TEST(Assumptions, ALawOfWhichOnlyValuesAreKnown) {
  const auto law = std::make_shared<OnlyValues>(test::standard_gaussian(2));
  const auto over = ask(law, Matrix::Identity(2, 2), test::standard_gaussian(2));
  for (const char* name : {"sub_gaussian_tokens", "gaussian_tokens", "bounded_tokens", "finite_log_partition",
                           "tilted_moment_4", "tilted_moment_8", "finite_rho"}) {
    EXPECT_EQ(row(over, name).holds, Holds::unknown) << name;
    EXPECT_FALSE(row(over, name).note.empty()) << name;
  }
  EXPECT_EQ(row(over, "sub_gaussian_tokens").kind, ValueKind::at_least);
  EXPECT_EQ(row(over, "centred_tokens").holds, Holds::yes);
  // At a query its values are enough: N((1, 0), I) has E‖x‖⁴ = 8 + 8 + 1 and E‖x‖⁸ = 2·5! + ...; bounds are
  // above.
  const auto at = ask(law, Matrix::Identity(2, 2), Vector(Vector::Unit(2, 0)));
  const auto exact = ask(test::standard_gaussian(2), Matrix::Identity(2, 2), Vector(Vector::Unit(2, 0)));
  EXPECT_DOUBLE_EQ(*row(exact, "tilted_moment_4").value, 17);
  for (const char* name : {"tilted_moment_4", "tilted_moment_8"}) {
    EXPECT_EQ(row(at, name).holds, Holds::yes);
    EXPECT_GE(*row(at, name).value, *row(exact, name).value);
    EXPECT_LE(*row(at, name).value, 100 * *row(exact, name).value);
  }
  EXPECT_NEAR(*row(at, "finite_rho").value, 1, 1e-12);
  // The queries can be such a law, too.
  EXPECT_EQ(row(ask(test::standard_gaussian(2), Matrix::Identity(2, 2), law), "sub_gaussian_queries").holds,
            Holds::unknown);
  EXPECT_EQ(row(ask(test::standard_gaussian(1), Matrix::Identity(1, 1), std::make_shared<HeavyTails>(1)),
                "sub_gaussian_queries")
                .holds,
            Holds::no);
}

TEST(Assumptions, DegenerateLaws) {
  // A point is Gaussian and bounded.
  const auto point =
      ask(gaussian(Vector::Ones(2), Matrix::Zero(2, 2)), Matrix::Identity(2, 2), test::standard_gaussian(2));
  EXPECT_EQ(row(point, "gaussian_tokens").holds, Holds::yes);
  EXPECT_EQ(row(point, "bounded_tokens").holds, Holds::yes);
  EXPECT_NEAR(*row(point, "tilted_moment_4").value / 4, 1, 2 * kClosed);  // a bound: rounded up
  EXPECT_EQ(row(point, "finite_rho").holds, Holds::yes);
  EXPECT_NEAR(*row(point, "finite_rho").value, 0, 1e-12);
  // Directions without variance do not count.
  const auto flat = ask(gaussian(Vector::Zero(2), Vector{{0.1, 0}}.asDiagonal()),
                        Vector{{1, 100}}.asDiagonal(), test::standard_gaussian(2));
  EXPECT_EQ(row(flat, "finite_rho").holds, Holds::yes);
  EXPECT_NEAR(*row(flat, "finite_rho").value, -0.5 * std::log(0.8), kClosed);
  // Two equal Gaussians are one, also under a map.
  const MeasurePtr normal = test::standard_gaussian(1);
  const auto twice =
      std::make_shared<MixtureMeasure>(Vector{{1, 3}}, std::vector<MeasurePtr>{normal, normal});
  EXPECT_EQ(row(ask(twice, Matrix::Identity(1, 1), line(0, 1)), "gaussian_tokens").holds, Holds::yes);
  const auto scaled =
      std::make_shared<AffineMeasure>(Matrix::Constant(1, 1, 0.1), Vector::Zero(1), line(0, 100));
  const auto rounded =
      std::make_shared<MixtureMeasure>(Vector{{1, 3}}, std::vector<MeasurePtr>{normal, scaled});
  EXPECT_EQ(row(ask(rounded, Matrix::Identity(1, 1), line(0, 1)), "gaussian_tokens").holds, Holds::yes);
  EXPECT_THROW(ask(normal, Matrix::Identity(2, 2), line(0, 1)), InputError);
}

}  // namespace
}  // namespace largo::assumptions_test
