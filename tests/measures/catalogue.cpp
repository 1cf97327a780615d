#include "measures/catalogue.hpp"

#include <cmath>

#include "largo/measures/affine.hpp"
#include "largo/measures/elliptical.hpp"
#include "largo/measures/empirical.hpp"
#include "largo/measures/gaussian.hpp"
#include "largo/measures/independent_pair.hpp"
#include "largo/measures/mixture.hpp"
#include "largo/measures/product.hpp"
#include "largo/measures/sphere.hpp"

namespace largo::test {
namespace {

Matrix random_covariance(std::uint64_t id, std::ptrdiff_t d, std::ptrdiff_t rank) {
  const Matrix root = random_matrix(id, d, rank) / std::sqrt(static_cast<double>(d));
  return root * root.transpose();
}

Case gaussian_case(const std::string& name, std::uint64_t id, std::ptrdiff_t d, std::ptrdiff_t rank) {
  const Vector mean = random_matrix(id, d, 1);
  const Matrix covariance = random_covariance(id + 1, d, rank);
  return {name, std::make_shared<GaussianMeasure>(mean, covariance), gaussian(mean, covariance),
          Constant::smallest};
}

struct NamedLine {
  CoordinateLawPtr law;
  Line line;
};

NamedLine rademacher_line() { return {rademacher(1.5), {{{-1.5, 0.5}, {1.5, 0.5}}, {}}}; }
NamedLine uniform_line() { return {uniform(2.0), {{}, {{-2, 2, 0}}}}; }
// With a mass below 1/3 the kurtosis exceeds 3, and the sub-Gaussian constant is attained away from zero.
NamedLine three_point_line() {
  return {three_point(2.0, 0.125), {{{-2, 0.0625}, {0, 0.875}, {2, 0.0625}}, {}}};
}
NamedLine bernoulli_line() { return {centred_bernoulli(0.125), {{{0, 0.875}, {1, 0.125}}, {}, -0.125}}; }
NamedLine laplace_line() { return {truncated_laplace(0.5, 3.0), {{}, {{-3, 0, 2}, {0, 3, -2}}}}; }

Case product_case(const std::string& name, const std::vector<NamedLine>& coordinates) {
  std::vector<CoordinateLawPtr> laws;
  std::vector<Line> lines;
  for (const NamedLine& coordinate : coordinates) {
    laws.push_back(coordinate.law);
    lines.push_back(coordinate.line);
  }
  return {name, std::make_shared<ProductMeasure>(laws), independent(lines), Constant::smallest};
}

Case power_case(const std::string& name, std::ptrdiff_t d, const NamedLine& coordinate) {
  return {name, std::make_shared<ProductMeasure>(d, coordinate.law),
          independent(std::vector<Line>(static_cast<std::size_t>(d), coordinate.line)), Constant::smallest};
}

Case sphere_case(std::ptrdiff_t d, double radius) {
  return {"Sphere" + std::to_string(d), std::make_shared<SphereMeasure>(d, radius), sphere(d, radius),
          Constant::smallest};
}

Case ball_case(std::ptrdiff_t d, double radius) {
  return {"Ball" + std::to_string(d), std::make_shared<BallMeasure>(d, radius), ball(d, radius),
          Constant::smallest};
}

Case gaussian_elliptical_case(const std::string& name, const Matrix& shape, const RadialLaw& radial,
                              const Line& line) {
  return {"EllipticalGaussian" + name,
          std::make_shared<EllipticalMeasure>(shape, EllipticalBase::gaussian, radial),
          elliptical_gaussian(shape, line), Constant::smallest};
}

Case round_elliptical_case(const std::string& name, const Matrix& shape, const RadialLaw& radial,
                           const Line& line) {
  return {"EllipticalSphere" + name,
          std::make_shared<EllipticalMeasure>(shape, EllipticalBase::sphere, radial),
          elliptical_sphere(shape, line), Constant::upper_bound};
}

void add_elliptical_cases(std::vector<Case>& cases) {
  const Matrix shape = random_covariance(20, 3, 3);
  const Matrix flat = random_covariance(21, 4, 2);
  const RadialLaw steps = RadialLaw::discrete(Vector{{0, 0.5, 2}}, Vector{{1, 2, 1}});
  const Line step_line{{{0, 1}, {0.5, 2}, {2, 1}}, {}};
  const RadialLaw range = RadialLaw::uniform(0.25, 2);
  const Line range_line{{}, {{0.25, 2, 0}}};
  cases.push_back(gaussian_elliptical_case("Discrete", shape, steps, step_line));
  cases.push_back(gaussian_elliptical_case("Uniform", flat, range, range_line));
  cases.push_back(round_elliptical_case("Discrete", flat, steps, step_line));
  cases.push_back(round_elliptical_case("Uniform", shape, range, range_line));
}

void add_empirical_cases(std::vector<Case>& cases) {
  // The tokens are off the origin, so that a covariance about the wrong point would lose its digits.
  const RowMatrix tokens = random_matrix(30, 37, 3).array() + 10;
  Vector weights = random_matrix(31, 37, 1).cwiseAbs();
  weights[5] = 0;
  cases.push_back({"Empirical", std::make_shared<EmpiricalMeasure>(tokens),
                   atoms(tokens, Vector::Ones(tokens.rows())), Constant::upper_bound});
  cases.push_back({"WeightedEmpirical", std::make_shared<EmpiricalMeasure>(tokens, weights),
                   atoms(tokens, weights), Constant::upper_bound});
}

void add_composite_cases(std::vector<Case>& cases) {
  const Case product = product_case("", {three_point_line(), bernoulli_line()});
  const Matrix map = random_matrix(40, 3, 2);
  const Vector offset = random_matrix(41, 3, 1);
  cases.push_back({"LinearImage",
                   std::make_shared<AffineMeasure>(AffineMeasure::linear_image(map, product.law)),
                   affine(map, Vector::Zero(3), product.oracle), Constant::upper_bound});
  const Case round = ball_case(3, 1.5);
  cases.push_back({"Translation",
                   std::make_shared<AffineMeasure>(AffineMeasure::translation(offset, round.law)),
                   affine(Matrix::Identity(3, 3), offset, round.oracle), Constant::upper_bound});

  const Case first = gaussian_case("", 50, 3, 3);
  const Case second = gaussian_case("", 52, 3, 1);
  const Vector gate{{3, 1}};
  cases.push_back({"GaussianMixture",
                   std::make_shared<MixtureMeasure>(gate, std::vector<MeasurePtr>{first.law, second.law}),
                   mixture(gate, {first.oracle, second.oracle}), Constant::upper_bound});
  const Case image = cases[cases.size() - 2];
  const Case sphere = sphere_case(3, 2);
  const Vector parts{{1, 0, 2, 1}};  // the component without weight plays no role
  const Case walk = power_case("", 3, rademacher_line());
  cases.push_back({"MixtureOfDifferentLaws",
                   std::make_shared<MixtureMeasure>(
                       parts, std::vector<MeasurePtr>{image.law, walk.law, sphere.law, second.law}),
                   mixture(parts, {image.oracle, walk.oracle, sphere.oracle, second.oracle}),
                   Constant::upper_bound});
}

void add_pair_cases(std::vector<Case>& cases) {
  const Vector mean = random_matrix(60, 5, 1);
  Matrix covariance = Matrix::Zero(5, 5);
  covariance.topLeftCorner(3, 3) = random_covariance(61, 3, 3);
  covariance.bottomRightCorner(2, 2) = random_covariance(62, 2, 1);
  cases.push_back({"PairOfGaussians",
                   std::make_shared<IndependentPair>(
                       std::make_shared<GaussianMeasure>(mean.head(3), covariance.topLeftCorner(3, 3)),
                       std::make_shared<GaussianMeasure>(mean.tail(2), covariance.bottomRightCorner(2, 2))),
                   gaussian(mean, covariance), Constant::smallest});
  // A Rademacher and a Gaussian part make a mixture of two Gaussians that are flat in the first coordinate.
  Matrix flat = Matrix::Zero(4, 4);
  flat.bottomRightCorner(3, 3) = covariance.topLeftCorner(3, 3);
  std::vector<OraclePtr> halves;
  for (const double at : {-1.5, 1.5}) {
    halves.push_back(gaussian(Vector{{at, mean[0], mean[1], mean[2]}}, flat));
  }
  cases.push_back({"PairRademacherGaussian",
                   std::make_shared<IndependentPair>(
                       power_case("", 1, rademacher_line()).law,
                       std::make_shared<GaussianMeasure>(mean.head(3), flat.bottomRightCorner(3, 3))),
                   mixture(Vector{{1, 1}}, halves), Constant::smallest});
  // The parts have the same dimension, so that shared draws would show.
  cases.push_back({"PairUniformThreePoint",
                   std::make_shared<IndependentPair>(power_case("", 1, uniform_line()).law,
                                                     power_case("", 1, three_point_line()).law),
                   independent({uniform_line().line, three_point_line().line}), Constant::smallest});
}

std::vector<Case> make_catalogue() {
  std::vector<Case> cases = {
      gaussian_case("Gaussian", 10, 4, 4),
      gaussian_case("SingularGaussian", 12, 4, 2),
      gaussian_case("PointMass", 14, 2, 0),
      power_case("Rademacher", 3, rademacher_line()),
      power_case("Uniform", 3, uniform_line()),
      power_case("ThreePoint", 3, three_point_line()),
      power_case("CentredBernoulli", 3, bernoulli_line()),
      power_case("TruncatedLaplace", 3, laplace_line()),
      product_case("MixedProduct",
                   {rademacher_line(), uniform_line(), three_point_line(), bernoulli_line(), laplace_line()}),
      sphere_case(1, 2),
      sphere_case(2, 1),
      sphere_case(5, 3),
      ball_case(1, 2),
      ball_case(4, 2),
  };
  add_elliptical_cases(cases);
  add_empirical_cases(cases);
  add_composite_cases(cases);
  add_pair_cases(cases);
  return cases;
}

}  // namespace

const std::vector<Case>& catalogue() {
  static const std::vector<Case> cases = make_catalogue();
  return cases;
}

Matrix random_matrix(std::uint64_t id, std::ptrdiff_t rows, std::ptrdiff_t columns) {
  Matrix values(rows, columns);
  Stream(1, id).normals(0, {values.data(), static_cast<std::size_t>(values.size())});
  return values;
}

std::vector<Vector> directions(const Measure& law) {
  const std::ptrdiff_t d = law.dimension();
  std::vector<Vector> all = {Vector::Zero(d)};
  std::uint64_t id = 100;
  for (const double scale : {1e-3, 0.1, 1.0, 1.0, 1.0, 4.0}) all.push_back(scale * random_matrix(id++, d, 1));
  return all;
}

}  // namespace largo::test
