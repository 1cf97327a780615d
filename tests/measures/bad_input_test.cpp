// A mistake of the caller gives one type of exception and one line, with the function and the argument.
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "largo/measures/affine.hpp"
#include "largo/measures/elliptical.hpp"
#include "largo/measures/empirical.hpp"
#include "largo/measures/gaussian.hpp"
#include "largo/measures/independent_pair.hpp"
#include "largo/measures/mixture.hpp"
#include "largo/measures/product.hpp"
#include "largo/measures/sphere.hpp"
#include "largo/runtime/check.hpp"
#include "measures/catalogue.hpp"
#include "measures/nesting.hpp"

namespace largo::bad_input_test {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

struct Mistake {
  std::string what;
  std::function<void()> call;
  std::vector<std::string> named;  ///< what the message must contain
};

void expect_errors(const std::vector<Mistake>& mistakes) {
  for (const Mistake& mistake : mistakes) {
    SCOPED_TRACE(mistake.what);
    try {
      mistake.call();
      ADD_FAILURE() << "no error";
    } catch (const InputError& error) {
      const std::string message = error.what();
      EXPECT_EQ(message.find('\n'), std::string::npos) << message;
      for (const std::string& name : mistake.named) {
        EXPECT_NE(message.find(name), std::string::npos) << "'" << name << "' is not in: " << message;
      }
    }
  }
}

MeasurePtr standard(std::ptrdiff_t d) {
  return std::make_shared<GaussianMeasure>(GaussianMeasure::standard(d));
}

Vector zeros(std::ptrdiff_t d) { return Vector::Zero(d); }

TEST(BadInput, Gaussian) {
  const auto with = [](const Matrix& covariance) {
    return [covariance] { GaussianMeasure(Vector::Zero(2), covariance); };
  };
  const std::string name = "GaussianMeasure";
  expect_errors({
      {"asymmetric",
       with(Matrix{{1, 0.25}, {0.5, 1}}),
       {name, "covariance(1,0) is 0.5", "covariance(0,1) = 0.25"}},
      {"indefinite", with(Matrix{{1, 2}, {2, 1}}), {name, "eigenvalue of covariance is -0.99"}},
      {"negative", with(-Matrix::Identity(2, 2)), {name, "eigenvalue of covariance"}},
      {"too large", with(Matrix::Identity(3, 3)), {name, "shape of covariance is 3 x 3, must be 2 x 2"}},
      {"not square", with(Matrix::Zero(2, 1)), {name, "shape of covariance is 2 x 1"}},
      {"NaN", with(Matrix{{1, kNan}, {kNan, 1}}), {name, "covariance(0,1) is nan, must be finite"}},
      {"infinite", with(Matrix{{kInfinity, 0}, {0, 1}}), {name, "covariance(0,0) is inf"}},
      {"NaN mean",
       [] {
         GaussianMeasure(Vector{{0, kNan}}, Matrix::Identity(2, 2));
       },
       {name, "mean[1] is nan"}},
      {"dimension 0", [] { GaussianMeasure(Vector(), Matrix()); }, {"dimension is 0, must be at least 1"}},
      {"standard, dimension 0", [] { GaussianMeasure::standard(0); }, {"dimension is 0"}},
  });
  // Matrices that are right up to rounding are accepted.
  EXPECT_NO_THROW(GaussianMeasure(zeros(2), Matrix{{1, 0.5}, {0.5 + 1e-16, 1}}));
  EXPECT_NO_THROW(GaussianMeasure(zeros(2), Matrix{{1, 1}, {1, 1 - 1e-15}}));
}

TEST(BadInput, Mixture) {
  const std::string name = "MixtureMeasure";
  const auto with = [](const Vector& weights) {
    return [weights] { MixtureMeasure(weights, {standard(2), standard(2)}); };
  };
  expect_errors({
      {"empty", [] { MixtureMeasure(Vector(), {}); }, {name, "number of components is 0"}},
      {"null", [] { MixtureMeasure(Vector::Ones(1), {nullptr}); }, {name, "component", "null"}},
      {"one weight", with(Vector::Ones(1)), {name, "size of weights is 1, must be 2"}},
      {"negative weight", with(Vector{{2, -1}}), {name, "weights[1] is -1"}},
      {"NaN weight", with(Vector{{kNan, 1}}), {name, "weights[0] is nan"}},
      {"infinite weight", with(Vector{{1, kInfinity}}), {name, "weights[1] is inf"}},
      {"no weight", with(Vector::Zero(2)), {name, "sum of weights is 0, must be positive"}},
      {"weights whose sum overflows", with(Vector{{1e308, 1e308}}), {name, "sum of weights is inf"}},
      {"dimensions",
       [] {
         MixtureMeasure(Vector::Ones(2), {standard(2), standard(3)});
       },
       {name, "component 1 is 3"}},
  });
}

// Calls and destructors recurse through nested laws, so the depth and the number of laws are bounded.
TEST(BadInput, NestedLaws) {
  const auto nested = [](int depth, const std::function<MeasurePtr(MeasurePtr)>& around) {
    MeasurePtr law = standard(1);
    for (int i = 0; i < depth; ++i) law = around(law);
    return law;
  };
  const auto mixture = [](const MeasurePtr& law) {
    return std::make_shared<MixtureMeasure>(Vector::Ones(1), std::vector<MeasurePtr>{law});
  };
  const auto twice = [](const MeasurePtr& law) {
    return std::make_shared<MixtureMeasure>(Vector::Ones(2), std::vector<MeasurePtr>{law, law});
  };
  const auto image = [](const MeasurePtr& law) {
    return std::make_shared<AffineMeasure>(Matrix::Ones(1, 1), Vector::Zero(1), law);
  };
  const auto pair = [](const MeasurePtr& law) {
    return std::make_shared<AffineMeasure>(Matrix::Ones(1, 2), Vector::Zero(1),
                                           std::make_shared<IndependentPair>(law, standard(1)));
  };
  EXPECT_NEAR(nested(measures::kMostNestedLaws, mixture)->log_partition(Vector{{2}}), 2, 1e-12);
  expect_errors({
      {"mixtures", [&] { nested(100'000, mixture); }, {"MixtureMeasure", "nested more than 256 deep"}},
      {"images", [&] { nested(100'000, image); }, {"AffineMeasure", "nested more than 256 deep"}},
      {"pairs", [&] { nested(100'000, pair); }, {"IndependentPair", "nested more than 256 deep"}},
      {"twice itself", [&] { nested(60, twice); }, {"MixtureMeasure", "1048576, must be at most 1000000"}},
  });
}

TEST(BadInput, CoordinateLawsAndProducts) {
  expect_errors({
      {"rademacher", [] { rademacher(0); }, {"rademacher", "scale is 0"}},
      {"rademacher NaN", [] { rademacher(kNan); }, {"rademacher", "scale is nan"}},
      {"uniform", [] { uniform(-1); }, {"uniform", "half_width is -1"}},
      {"three_point scale", [] { three_point(kInfinity, 0.5); }, {"three_point", "scale is inf"}},
      {"three_point no mass", [] { three_point(1, 0); }, {"three_point", "mass is 0"}},
      {"three_point mass", [] { three_point(1, 1.5); }, {"three_point", "mass is 1.5"}},
      {"three_point NaN", [] { three_point(1, kNan); }, {"three_point", "mass is nan"}},
      {"bernoulli 0", [] { centred_bernoulli(0); }, {"centred_bernoulli", "probability is 0"}},
      {"bernoulli 1", [] { centred_bernoulli(1); }, {"centred_bernoulli", "probability is 1"}},
      {"bernoulli NaN", [] { centred_bernoulli(kNan); }, {"centred_bernoulli", "probability is nan"}},
      {"laplace scale", [] { truncated_laplace(0, 1); }, {"truncated_laplace", "scale is 0"}},
      {"laplace bound", [] { truncated_laplace(1, -2); }, {"truncated_laplace", "bound is -2"}},
      {"product of nothing", [] { ProductMeasure({}); }, {"dimension is 0"}},
      {"negative power", [] { ProductMeasure(-1, rademacher()); }, {"dimension"}},
      {"null coordinate", [] { ProductMeasure(2, nullptr); }, {"ProductMeasure", "null"}},
  });
}

TEST(BadInput, SphereAndBall) {
  expect_errors({
      {"sphere radius", [] { SphereMeasure(3, 0); }, {"SphereMeasure", "radius is 0"}},
      {"sphere radius NaN", [] { SphereMeasure(3, kNan); }, {"SphereMeasure", "radius is nan"}},
      {"sphere dimension", [] { SphereMeasure(0, 1); }, {"dimension is 0"}},
      {"ball radius", [] { BallMeasure(3, -1); }, {"BallMeasure", "radius is -1"}},
      {"ball dimension", [] { BallMeasure(-2, 1); }, {"dimension is -2"}},
  });
}

TEST(BadInput, Elliptical) {
  const auto with = [](const Matrix& shape) {
    return [shape] { EllipticalMeasure(shape, EllipticalBase::sphere, RadialLaw::uniform(0, 1)); };
  };
  const Vector one = Vector::Ones(1);
  expect_errors({
      {"asymmetric", with(Matrix{{1, 0}, {1, 1}}), {"EllipticalMeasure", "shape(1,0) is 1"}},
      {"indefinite", with(Matrix{{1, 2}, {2, 1}}), {"EllipticalMeasure", "eigenvalue of shape is -0.99"}},
      {"not square", with(Matrix::Zero(2, 3)), {"EllipticalMeasure", "shape of shape is 2 x 3"}},
      {"empty", with(Matrix()), {"dimension is 0"}},
      {"negative value", [&] { RadialLaw::discrete(Vector{{-1}}, one); }, {"RadialLaw", "value is -1"}},
      {"NaN value", [&] { RadialLaw::discrete(Vector{{kNan}}, one); }, {"RadialLaw", "value is nan"}},
      {"all zero", [&] { RadialLaw::discrete(Vector{{0}}, one); }, {"RadialLaw", "largest value is 0"}},
      {"no values", [] { RadialLaw::discrete(Vector(), Vector()); }, {"RadialLaw", "weights"}},
      {"weights",
       [&] {
         RadialLaw::discrete(Vector{{1, 2}}, one);
       },
       {"RadialLaw", "size of weights is 1"}},
      {"negative weight",
       [] { RadialLaw::discrete(Vector{{1}}, Vector{{-1}}); },
       {"RadialLaw", "weights[0] is -1"}},
      {"low", [] { RadialLaw::uniform(-1, 1); }, {"RadialLaw", "low is -1"}},
      {"reversed", [] { RadialLaw::uniform(2, 1); }, {"RadialLaw", "high is 1"}},
      {"empty range", [] { RadialLaw::uniform(1, 1); }, {"RadialLaw", "high is 1"}},
      {"NaN high", [] { RadialLaw::uniform(0, kNan); }, {"RadialLaw", "high is nan"}},
  });
}

TEST(BadInput, Empirical) {
  const std::string name = "EmpiricalMeasure";
  const RowMatrix tokens = RowMatrix::Ones(3, 2);
  const auto with = [&](const Vector& weights) { return [=] { EmpiricalMeasure(tokens, weights); }; };
  RowMatrix bad = tokens;
  bad(2, 1) = kNan;
  expect_errors({
      {"no tokens", [] { EmpiricalMeasure(RowMatrix(0, 2)); }, {name, "number of tokens is 0"}},
      {"no coordinates", [] { EmpiricalMeasure(RowMatrix(3, 0)); }, {"dimension is 0"}},
      {"weights", with(Vector::Ones(2)), {name, "size of weights is 2, must be 3"}},
      {"negative weight", with(Vector{{1, -1, 1}}), {name, "weights[1] is -1"}},
      {"no weight", with(Vector::Zero(3)), {name, "sum of weights is 0"}},
      {"NaN token",
       [=] { EmpiricalMeasure(bad).tilt(zeros(2), TiltOrder::mean); },
       {name, "token 2, coordinate 1 is nan"}},
      {"NaN token, products",
       [=] { EmpiricalMeasure(bad).tilted_covariance_products(zeros(2), zeros(2)); },
       {name, "token 2, coordinate 1 is nan"}},
      {"overflow",
       [=] { EmpiricalMeasure(tokens).tilt(Vector::Constant(2, 1e308), TiltOrder::mean); },
       {name, "overflow"}},
  });
}

TEST(BadInput, Affine) {
  const std::string name = "AffineMeasure";
  expect_errors({
      {"null", [] { AffineMeasure(Matrix::Identity(2, 2), Vector::Zero(2), nullptr); }, {name, "null"}},
      {"shape",
       [] { AffineMeasure(Matrix::Zero(2, 2), Vector::Zero(2), standard(3)); },
       {name, "shape of map is 2 x 2, must be 2 x 3"}},
      {"offset",
       [] { AffineMeasure(Matrix::Zero(2, 3), Vector::Zero(4), standard(3)); },
       {name, "shape of map is 2 x 3, must be 4 x 3"}},
      {"NaN map",
       [] { AffineMeasure::linear_image(Matrix::Constant(1, 1, kNan), standard(1)); },
       {name, "map"}},
      {"NaN offset",
       [] { AffineMeasure::translation(Vector{{kNan}}, standard(1)); },
       {name, "offset[0] is nan"}},
      {"translation",
       [] { AffineMeasure::translation(Vector::Zero(2), standard(1)); },
       {name, "shape of map"}},
      {"dimension 0",
       [] { AffineMeasure::linear_image(Matrix::Zero(0, 1), standard(1)); },
       {"dimension is 0"}},
  });
}

TEST(BadInput, DirectionsAndTokensOfEveryLaw) {
  for (const test::Case& entry : test::catalogue()) {
    SCOPED_TRACE(entry.name);
    const Measure& law = *entry.law;
    const std::ptrdiff_t d = law.dimension();
    const Matrix fine = Matrix::Zero(d, 2);
    Matrix bad = fine;
    bad(d - 1, 1) = kNan;
    const auto sample = [&](std::ptrdiff_t columns) {
      RowMatrix tokens(2, columns);
      law.sample(Stream(1, 1), 0, tokens);
    };
    expect_errors({
        {"longer", [&] { law.tilt(zeros(d + 1), TiltOrder::mean); }, {"tilt", "direction is"}},
        {"longer, value", [&] { law.log_partition(zeros(d + 1)); }, {"tilt", "direction is"}},
        {"NaN", [&] { law.tilt(bad.col(1), TiltOrder::covariance); }, {"tilt", "direction", "nan"}},
        {"NaN, value", [&] { law.log_partition(bad.col(1)); }, {"tilt", "direction", "nan"}},
        {"batch rows",
         [&] { law.tilts(Matrix::Zero(d + 1, 2), TiltOrder::mean, {}); },
         {"tilts", "each direction is"}},
        {"batch NaN", [&] { law.tilts(bad, TiltOrder::mean, {}); }, {"tilt", "direction", "nan"}},
        {"products rows",
         [&] { law.tilted_covariance_products(Matrix::Zero(d + 1, 2), fine); },
         {"tilted_covariance_products", "direction"}},
        {"products shape",
         [&] { law.tilted_covariance_products(fine, Matrix::Zero(d, 3)); },
         {"tilted_covariance_products", "vectors"}},
        {"products NaN",
         [&] { law.tilted_covariance_products(fine, bad); },
         {"tilted_covariance_products", "vectors", "nan"}},
        {"token size", [&] { sample(d + 1); }, {"sample", "each token is"}},
        {"prompt length", [&] { sample_prompt(law, Stream(1, 1), 0); }, {"sample_prompt", "length is 0"}},
    });
  }
}

TEST(BadInput, IndependentPair) {
  const std::string name = "IndependentPair";
  expect_errors({
      {"no first", [] { IndependentPair(nullptr, standard(1)); }, {name, "null"}},
      {"no second", [] { IndependentPair(standard(1), nullptr); }, {name, "null"}},
      {"direction", [] { IndependentPair(standard(1), standard(2)).log_partition(zeros(2)); }, {"direction"}},
      {"convolution",
       [] { IndependentPair(std::make_shared<SphereMeasure>(3, 1), standard(1)).score_law(Vector::Ones(4)); },
       {"score_law", "convolution"}},
      {"two matrices",
       [] {
         IndependentPair(std::make_shared<SphereMeasure>(3, 1), standard(1)).score_law(Vector::Unit(4, 0));
       },
       {"score_law", "convolution"}},
      {"many atoms",
       [] {
         const MeasurePtr cube = std::make_shared<ProductMeasure>(9, rademacher());
         IndependentPair(cube, cube).score_law(Vector::Ones(18));
       },
       {"score_law", "65536"}},
  });
}

}  // namespace
}  // namespace largo::bad_input_test
