// Laws that define log_partition() alone: the defaults of Measure, at the accuracy stated in measure.hpp.
#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <utility>

#include <gtest/gtest.h>

#include "largo/measures/affine.hpp"
#include "largo/measures/gaussian.hpp"
#include "largo/measures/independent_pair.hpp"
#include "largo/measures/measure.hpp"
#include "largo/measures/mixture.hpp"
#include "largo/runtime/check.hpp"
#include "measures/catalogue.hpp"

namespace largo::user_law_test {
namespace {

// As documented in measure.hpp, relative to the spread of the law.
constexpr double kDefaultMean = 1e-12;
constexpr double kDefaultCovariance = 1e-9;

/// A law that has only the Λ of another law.
class OnlyLogPartition final : public Measure {
 public:
  explicit OnlyLogPartition(MeasurePtr law) : Measure(law->dimension()), law_(std::move(law)) {}
  double log_partition(const ConstVectorRef& direction) const override {
    return law_->log_partition(direction);
  }

 private:
  MeasurePtr law_;
};

/// ±scale in every coordinate, by the formula that a user would write.
class LogCosh final : public Measure {
 public:
  LogCosh(std::ptrdiff_t dimension, double scale) : Measure(dimension), scale_(scale) {}
  double log_partition(const ConstVectorRef& direction) const override {
    return (scale_ * direction).array().cosh().log().sum();
  }

 private:
  double scale_;
};

class Broken final : public Measure {
 public:
  explicit Broken(double from) : Measure(2), from_(from) {}
  double log_partition(const ConstVectorRef& direction) const override {
    return direction.norm() >= from_ ? std::numeric_limits<double>::quiet_NaN() : 0;
  }

 private:
  double from_;
};

void expect_default_accuracy(const Measure& law, const Tilt& exact, const Vector& direction, double spread) {
  const Tilt tilt = law.tilt(direction);
  EXPECT_LE((tilt.mean - exact.mean).cwiseAbs().maxCoeff(), kDefaultMean * spread);
  EXPECT_LE((tilt.covariance - exact.covariance).cwiseAbs().maxCoeff(), kDefaultCovariance * spread * spread);
  EXPECT_EQ(tilt.log_partition, law.log_partition(direction));
}

TEST(UserLaw, DefaultTiltOfAGaussian) {
  const Matrix root = test::random_matrix(1, 3, 3);
  for (const double scale : {1e-8, 1e-2, 1.0, 100.0, 1e8}) {
    const GaussianMeasure gaussian(Vector(scale * test::random_matrix(2, 3, 1)),
                                   scale * scale * (root * root.transpose()));
    const OnlyLogPartition law(std::make_shared<GaussianMeasure>(gaussian));
    const double spread = std::sqrt(gaussian.covariance().trace());
    for (const double size : {0.0, 0.1, 1.0}) {
      SCOPED_TRACE(::testing::Message() << "scale " << scale << ", size " << size);
      const Vector a = size / spread * test::random_matrix(3, 3, 1);
      expect_default_accuracy(law, gaussian.tilt(a, TiltOrder::covariance), a, spread);
    }
  }
}

TEST(UserLaw, DefaultTiltOfRademacherVariables) {
  for (const double scale : {0.1, 1.0, 10.0}) {
    const LogCosh law(3, scale);
    for (const double size : {0.0, 0.3, 1.0, 2.0}) {
      SCOPED_TRACE(::testing::Message() << "scale " << scale << ", size " << size);
      const Vector a = size / scale * test::random_matrix(4, 3, 1);
      const Vector tanh = (scale * a).array().tanh();
      const Vector variance = scale * scale * (1 - tanh.array().square());
      expect_default_accuracy(law, {0, scale * tanh, variance.asDiagonal()}, a, scale * std::sqrt(3.0));
    }
  }
}

TEST(UserLaw, EveryLawOfTheCatalogueThroughTheDefaults) {
  for (const test::Case& entry : test::catalogue()) {
    SCOPED_TRACE(entry.name);
    const OnlyLogPartition law(entry.law);
    const std::ptrdiff_t d = law.dimension();
    const double spread = std::sqrt(std::max(1.0, entry.law->covariance().trace()));
    const Vector a = 0.5 / spread * test::random_matrix(5, d, 1);
    const Tilt exact = entry.law->tilt(a, TiltOrder::covariance);
    const Tilt tilt = law.tilt(a);
    // Tokens far from the origin cost digits: Λ is rounded relative to <a, mean>.
    const double far = 1 + exact.mean.norm() / spread;
    EXPECT_LE((tilt.mean - exact.mean).norm(), kDefaultMean * far * spread);
    EXPECT_LE((tilt.covariance - exact.covariance).norm(), kDefaultCovariance * far * spread * spread);
    EXPECT_LE(law.sub_gaussian_constant(), entry.law->sub_gaussian_constant() * (1 + 1e-6) + 1e-6);
  }
}

TEST(UserLaw, DefaultMeanCovarianceAndConstant) {
  const LogCosh law(2, 1.5);
  EXPECT_LE(law.mean().norm(), kDefaultMean);
  EXPECT_LE((law.covariance() - 2.25 * Matrix::Identity(2, 2)).norm(), 1e-8);
  // The supremum is the limit at zero; the nearest probe is at 1/16 of the length scale.
  EXPECT_NEAR(law.sub_gaussian_constant(), 1.5, 1e-2);
  EXPECT_LE(law.sub_gaussian_constant(), 1.5);
  const OnlyLogPartition standard(std::make_shared<GaussianMeasure>(GaussianMeasure::standard(3)));
  EXPECT_NEAR(standard.sub_gaussian_constant(), 1, 1e-9);
}

// g + x v with x three-valued and v oblique: along v the constant is attained away from zero, where a grid on
// the line finds it. Axes and diagonals see at most 0.6 of it.
TEST(UserLaw, ConstantIsSearchedInEveryDirection) {
  for (const std::ptrdiff_t d : {2, 3, 6, 12}) {
    for (const double mass : {0.5, 0.05, 1e-3}) {
      Vector v = test::random_matrix(9, d, 1).cwiseAbs();
      v = (v.array() + 0.3).matrix().normalized();
      for (std::ptrdiff_t i = 1; i < d; i += 2) v[i] = -v[i];
      class Oblique final : public Measure {
       public:
        Oblique(Vector direction, double mass)
            : Measure(direction.size()), v_(std::move(direction)), p_(mass) {}
        double log_partition(const ConstVectorRef& a) const override {
          return 0.05 * a.squaredNorm() + line(v_.dot(a));
        }
        double line(double t) const { return std::log1p(p_ * (std::cosh(2 * t) - 1)); }

       private:
        Vector v_;
        double p_;
      };
      const Oblique law(v, mass);
      double proxy = 4 * mass;
      for (double t = 0.01; t < 100; t *= 1.01) proxy = std::max(proxy, 2 * law.line(t) / (t * t));
      const double sigma = std::sqrt(0.1 + proxy);
      EXPECT_GE(law.sub_gaussian_constant(), 0.999 * sigma) << d << " " << mass;
      EXPECT_LE(law.sub_gaussian_constant(), 1.0001 * sigma) << d << " " << mass;
    }
  }
}

TEST(UserLaw, SaysWhatItsConstantIs) {
  const auto own = std::make_shared<LogCosh>(2, 1.0);
  const auto gaussian = std::make_shared<GaussianMeasure>(GaussianMeasure::standard(2));
  const auto mixture = [](const MeasurePtr& a, const MeasurePtr& b) {
    return MixtureMeasure(Vector::Ones(2), {a, b});
  };
  EXPECT_EQ(gaussian->sub_gaussian_kind(), SubGaussianKind::smallest);
  EXPECT_EQ(mixture(gaussian, gaussian).sub_gaussian_kind(), SubGaussianKind::at_most);
  EXPECT_EQ(own->sub_gaussian_kind(), SubGaussianKind::at_least);
  EXPECT_EQ(mixture(gaussian, own).sub_gaussian_kind(), SubGaussianKind::at_least);
  EXPECT_EQ(IndependentPair(gaussian, own).sub_gaussian_kind(), SubGaussianKind::at_least);
  EXPECT_EQ(IndependentPair(gaussian, gaussian).sub_gaussian_kind(), SubGaussianKind::smallest);
  EXPECT_EQ(AffineMeasure::translation(Vector::Ones(2), gaussian).sub_gaussian_kind(),
            SubGaussianKind::at_most);
}

TEST(UserLaw, BatchesAndProducts) {
  const LogCosh law(3, 1);
  const Matrix batch = test::random_matrix(6, 3, 5);
  const Matrix vectors = test::random_matrix(7, 3, 5);
  const std::vector<Tilt> reference = law.tilts(batch, TiltOrder::covariance, {1, 0});
  const Matrix products = law.tilted_covariance_products(batch, vectors, {1, 0});
  for (std::ptrdiff_t q = 0; q < batch.cols(); ++q) {
    const Tilt& tilt = reference[static_cast<std::size_t>(q)];
    EXPECT_EQ(tilt.mean, law.tilt(batch.col(q)).mean);
    EXPECT_LE((products.col(q) - tilt.covariance * vectors.col(q)).norm(), 1e-12);
  }
  EXPECT_EQ(law.tilted_covariance_products(batch, vectors, {3, 0}), products);
}

TEST(UserLaw, TakesPartInCompositions) {
  const auto law = std::make_shared<LogCosh>(2, 1.0);
  const MixtureMeasure mixture(Vector::Ones(2),
                               {law, std::make_shared<GaussianMeasure>(GaussianMeasure::standard(2))});
  const Vector a{{0.5, -1}};
  const double expected = std::log((std::cosh(0.5) * std::cosh(1.0) + std::exp(a.squaredNorm() / 2)) / 2);
  EXPECT_NEAR(mixture.log_partition(a), expected, 1e-14);
  EXPECT_NEAR(mixture.tilt(a, TiltOrder::log_partition).log_partition, expected, 1e-14);
}

TEST(UserLaw, HasNoSampler) {
  const LogCosh law(2, 1);
  RowMatrix tokens(3, 2);
  EXPECT_THROW(law.sample(Stream(1, 1), 0, tokens), InputError);
  EXPECT_THROW(sample_prompt(law, Stream(1, 1), 3), InputError);
}

TEST(UserLaw, NaNIsAnErrorNotAnAnswer) {
  const Broken always(0);
  const Vector zero = Vector::Zero(2);
  EXPECT_THROW(always.tilt(zero), InputError);
  EXPECT_THROW(always.mean(), InputError);
  EXPECT_THROW(always.covariance(), InputError);
  EXPECT_THROW(always.sub_gaussian_constant(), InputError);
  // Λ is finite at the given direction, but NaN where the differences reach.
  const Broken nearby(0.01);
  EXPECT_THROW(nearby.tilt(zero), InputError);
  EXPECT_THROW(nearby.tilt(zero, TiltOrder::mean), InputError);
}

TEST(UserLaw, StopsBetweenDirections) {
  const std::atomic<bool> stop = true;
  const OnlyLogPartition law(std::make_shared<GaussianMeasure>(GaussianMeasure::standard(2)));
  for (const int threads : {1, 2}) {
    const Execution execution{.threads = threads, .stop = &stop};
    EXPECT_THROW(law.tilts(Matrix::Ones(2, 5), TiltOrder::mean, execution), Stopped);
  }
}

}  // namespace
}  // namespace largo::user_law_test
