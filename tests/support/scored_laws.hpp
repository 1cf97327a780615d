// Laws of three-dimensional tokens that know the law of their scores to fourth order, one of every kind.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "largo/measures/affine.hpp"
#include "largo/measures/elliptical.hpp"
#include "largo/measures/gaussian.hpp"
#include "largo/measures/independent_pair.hpp"
#include "largo/measures/mixture.hpp"
#include "largo/measures/product.hpp"
#include "largo/measures/sphere.hpp"
#include "support/random_matrices.hpp"

namespace largo::test {

struct NamedLaw {
  std::string name;
  MeasurePtr law;
};

inline std::vector<NamedLaw> scored_laws() {
  constexpr RandomMatrices normals(37);
  const auto covariance = [&](std::uint64_t id, std::ptrdiff_t rank) {
    const Matrix root = normals(3, rank, id) / std::sqrt(3.0);
    return Matrix(root * root.transpose());
  };
  const Matrix shape = covariance(110, 3);
  const auto first = std::make_shared<GaussianMeasure>(normals(3, 1, 111), shape);
  const auto second = std::make_shared<GaussianMeasure>(normals(3, 1, 112), covariance(113, 2));
  const auto sphere = std::make_shared<SphereMeasure>(3, 1.5);
  const auto elliptical = [&](EllipticalBase base, const RadialLaw& radial) {
    return std::make_shared<EllipticalMeasure>(shape, base, radial);
  };
  const auto flat = std::make_shared<AffineMeasure>(normals(3, 2, 114), normals(3, 1, 115),
                                                    std::make_shared<SphereMeasure>(2, 2));
  const RadialLaw steps = RadialLaw::discrete(Vector{{0, 0.5, 2}}, Vector{{1, 2, 1}});
  const auto line = std::make_shared<GaussianMeasure>(GaussianMeasure::standard(1));
  return {
      {"Gaussian", first},
      {"GaussianMixture",
       std::make_shared<MixtureMeasure>(Vector{{1, 2}}, std::vector<MeasurePtr>{first, second})},
      {"Sphere", sphere},
      {"Ball", std::make_shared<BallMeasure>(3, 2)},
      {"EllipticalGaussian", elliptical(EllipticalBase::gaussian, RadialLaw::uniform(0, 2))},
      {"EllipticalSphere", elliptical(EllipticalBase::sphere, RadialLaw::uniform(0.5, 2))},
      {"EllipticalSteps", elliptical(EllipticalBase::gaussian, steps)},
      {"Rademacher", std::make_shared<ProductMeasure>(3, rademacher())},
      {"SkewedCoins", std::make_shared<ProductMeasure>(3, centred_bernoulli(0.2))},
      {"ImageOfACircle", flat},
      {"Pair", std::make_shared<IndependentPair>(std::make_shared<ProductMeasure>(2, rademacher()), line)},
      {"Mixed", std::make_shared<MixtureMeasure>(Vector{{1, 1}}, std::vector<MeasurePtr>{sphere, flat})}};
}

/// Tests of every such law, instantiated with ValuesIn(scored_laws()) and name_of_law.
class OfScoredLaw : public ::testing::TestWithParam<NamedLaw> {
 protected:
  /// V and a are matrices `number` and `number` + 1 of the family.
  OfScoredLaw(const RandomMatrices& normals, std::uint64_t number)
      : V(normals(2, 3, number)), a(normals(3, 1, number + 1)) {}
  const Measure& law() const { return *GetParam().law; }

  const Matrix V;
  const Vector a;  ///< of the scores
};
inline std::string name_of_law(const ::testing::TestParamInfo<NamedLaw>& entry) { return entry.param.name; }

}  // namespace largo::test
