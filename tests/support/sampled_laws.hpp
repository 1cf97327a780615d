// One law of every kind, for tests of the kernels that draw prompts.
#pragma once

#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "largo/measures/affine.hpp"
#include "largo/measures/elliptical.hpp"
#include "largo/measures/empirical.hpp"
#include "largo/measures/gaussian.hpp"
#include "largo/measures/mixture.hpp"
#include "largo/measures/product.hpp"
#include "largo/measures/sphere.hpp"
#include "largo/random/streams.hpp"
#include "support/random_matrices.hpp"

namespace largo::test {

inline constexpr test::RandomMatrices normals(23);

/// N(0, I) that offers nothing but its log-partition and samples.
class PlainGaussian final : public Measure {
 public:
  explicit PlainGaussian(std::ptrdiff_t d) : Measure(d) {}
  double log_partition(const ConstVectorRef& direction) const override { return direction.squaredNorm() / 2; }
  void sample(const Stream& stream, std::uint64_t first_token, Eigen::Ref<RowMatrix> tokens) const override {
    const auto d = static_cast<std::uint64_t>(dimension());
    stream.normals(first_token * d, {tokens.data(), static_cast<std::size_t>(tokens.size())});
  }
};

struct NamedLaw {
  std::string name;
  MeasurePtr law;
  bool has_score_law = true;
};

/// All of them are on R^3.
inline std::vector<NamedLaw> sampled_laws() {
  const Matrix root = 0.6 * normals(3, 3, 1);
  const Matrix covariance = root * root.transpose();
  Matrix flat = covariance;
  flat = root.leftCols(2) * root.leftCols(2).transpose();
  const Vector mean = 0.5 * normals(3, 1, 2);
  const auto gaussian = std::make_shared<GaussianMeasure>(mean, covariance);
  const auto sphere = std::make_shared<SphereMeasure>(3, 1.5);
  const auto radial = RadialLaw::discrete(Vector::LinSpaced(3, 0.2, 1.6), Vector::LinSpaced(3, 1, 2));
  const auto product = [](const CoordinateLawPtr& x) { return std::make_shared<ProductMeasure>(3, x); };
  std::vector<NamedLaw> laws;
  laws.push_back({"gaussian", gaussian});
  laws.push_back({"singular_gaussian", std::make_shared<GaussianMeasure>(mean, flat)});
  laws.push_back({"point", std::make_shared<GaussianMeasure>(mean, Matrix::Zero(3, 3))});
  laws.push_back({"rademacher", product(rademacher(0.8))});
  laws.push_back({"uniform", product(uniform(1.3)), false});
  laws.push_back({"three_point", product(three_point(1.5, 0.4))});
  laws.push_back({"bernoulli", product(centred_bernoulli(0.3))});
  laws.push_back({"laplace", product(truncated_laplace(0.7, 2)), false});
  laws.push_back({"coordinates", std::make_shared<ProductMeasure>(std::vector<CoordinateLawPtr>{
                                     rademacher(), uniform(1), three_point(1, 0.5)})});
  laws.push_back({"sphere", sphere});
  laws.push_back({"ball", std::make_shared<BallMeasure>(3, 1.5)});
  laws.push_back({"elliptical_gaussian",
                  std::make_shared<EllipticalMeasure>(covariance, EllipticalBase::gaussian, radial)});
  laws.push_back(
      {"elliptical_sphere", std::make_shared<EllipticalMeasure>(covariance, EllipticalBase::sphere, radial)});
  laws.push_back(
      {"elliptical_flat", std::make_shared<EllipticalMeasure>(flat, EllipticalBase::sphere, radial)});
  laws.push_back({"tokens", std::make_shared<EmpiricalMeasure>(RowMatrix(normals(40, 3, 3)))});
  laws.push_back({"mixture", std::make_shared<MixtureMeasure>(
                                 Vector::LinSpaced(3, 1, 3),
                                 std::vector<MeasurePtr>{gaussian, sphere, product(rademacher())})});
  laws.push_back(
      {"nested_mixture", std::make_shared<MixtureMeasure>(
                             Vector::Ones(2), std::vector<MeasurePtr>{laws.back().law, gaussian})});
  laws.push_back(
      {"image", std::make_shared<AffineMeasure>(normals(3, 4, 4) / 2, mean,
                                                std::make_shared<ProductMeasure>(4, rademacher()))});
  laws.push_back(
      {"image_of_mixture", std::make_shared<AffineMeasure>(normals(3, 3, 5) / 2, mean, laws[15].law)});
  laws.push_back({"own", std::make_shared<PlainGaussian>(3), false});
  laws.push_back({"mixture_with_own",
                  std::make_shared<MixtureMeasure>(
                      Vector::Ones(2), std::vector<MeasurePtr>{std::make_shared<PlainGaussian>(3), sphere}),
                  false});
  return laws;
}

}  // namespace largo::test
