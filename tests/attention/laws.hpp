// One law of every kind on R^3, with its log-partition in 100 digits, and random weights for them.
#pragma once

#include <memory>
#include <random>
#include <string>
#include <vector>

#include "largo/measures/affine.hpp"
#include "largo/measures/elliptical.hpp"
#include "largo/measures/empirical.hpp"
#include "largo/measures/gaussian.hpp"
#include "largo/measures/mixture.hpp"
#include "largo/measures/product.hpp"
#include "largo/measures/sphere.hpp"
#include "wide_attention.hpp"

namespace largo::test {

struct KnownLaw {
  std::string name;
  MeasurePtr law;
  LogPartition log_partition;
};

inline Matrix random_matrix(std::ptrdiff_t rows, std::ptrdiff_t columns, unsigned seed) {
  std::mt19937_64 engine(seed);
  std::uniform_real_distribution<double> law(-1, 1);
  Matrix matrix(rows, columns);
  for (double& entry : matrix.reshaped()) entry = law(engine);
  return matrix;
}

inline Matrix random_covariance(std::ptrdiff_t d, unsigned seed) {
  const Matrix root = random_matrix(d, d, seed);
  return root * root.transpose();
}

inline Wide quadratic(const Matrix& covariance, const WideVector& a) {
  Wide sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    for (std::size_t j = 0; j < a.size(); ++j) {
      sum += a[i] * a[j] * covariance(static_cast<std::ptrdiff_t>(i), static_cast<std::ptrdiff_t>(j));
    }
  }
  return sum;
}

inline LogPartition gaussian_log_partition(const Vector& mean, const Matrix& covariance) {
  return [=](const WideVector& a) -> Wide { return dot(a, wide(mean)) + quadratic(covariance, a) / 2; };
}

/// sinh(x)/x: the partition of the unit sphere in R^3.
inline Wide sphere_partition(const Wide& x) { return sinh(x) / x; }

inline LogPartition mixture_log_partition(const Vector& weights, const std::vector<LogPartition>& parts) {
  return [=](const WideVector& a) -> Wide {
    Wide sum = 0;
    Wide total = 0;
    for (std::size_t k = 0; k < parts.size(); ++k) {
      sum += weights[static_cast<std::ptrdiff_t>(k)] * exp(parts[k](a));
      total += weights[static_cast<std::ptrdiff_t>(k)];
    }
    return log(sum / total);
  };
}

inline LogPartition prompt_log_partition(const RowMatrix& tokens, const Vector& weights) {
  return [=](const WideVector& a) -> Wide {
    Wide sum = 0;
    Wide total = 0;
    for (std::ptrdiff_t l = 0; l < tokens.rows(); ++l) {
      sum += weights[l] * exp(dot(a, wide(tokens.row(l).transpose())));
      total += weights[l];
    }
    return log(sum / total);
  };
}

inline KnownLaw known_gaussian(unsigned seed) {
  const Vector mean = random_matrix(3, 1, seed);
  const Matrix root = random_matrix(3, 2, seed + 1);  // rank 2
  const Matrix covariance = root * root.transpose();
  return {"singular Gaussian", std::make_shared<GaussianMeasure>(mean, covariance),
          gaussian_log_partition(mean, covariance)};
}

inline KnownLaw known_mixture(unsigned seed) {
  const Vector weights = (Vector(3) << 2, 0.5, 1).finished();
  std::vector<MeasurePtr> components;
  std::vector<LogPartition> parts;
  for (unsigned k = 0; k < 3; ++k) {
    const Vector mean = 2 * random_matrix(3, 1, seed + 10 + k);
    const Matrix covariance = random_covariance(3, seed + 20 + k);
    components.push_back(std::make_shared<GaussianMeasure>(mean, covariance));
    parts.push_back(gaussian_log_partition(mean, covariance));
  }
  return {"Gaussian mixture", std::make_shared<MixtureMeasure>(weights, components),
          mixture_log_partition(weights, parts)};
}

inline KnownLaw known_product() {
  std::vector<CoordinateLawPtr> coordinates = {rademacher(1.25), uniform(0.75), three_point(1.5, 0.375)};
  return {"product", std::make_shared<ProductMeasure>(coordinates), [](const WideVector& a) -> Wide {
            return log(cosh(Wide(1.25) * a[0])) + log(sphere_partition(Wide(0.75) * a[1])) +
                   log(Wide(0.625) + Wide(0.375) * cosh(Wide(1.5) * a[2]));
          }};
}

inline KnownLaw known_sphere() {
  return {"sphere", std::make_shared<SphereMeasure>(3, 1.5),
          [](const WideVector& a) -> Wide { return log(sphere_partition(Wide(1.5) * sqrt(dot(a, a)))); }};
}

inline KnownLaw known_ball() {
  return {"ball", std::make_shared<BallMeasure>(3, 1.5), [](const WideVector& a) -> Wide {
            const Wide x = Wide(1.5) * sqrt(dot(a, a));
            return log(3 * (x * cosh(x) - sinh(x)) / (x * x * x));
          }};
}

inline KnownLaw known_elliptical_gaussian(unsigned seed) {
  const Matrix shape = random_covariance(3, seed + 30);
  return {"elliptical, Gaussian base, uniform W",
          std::make_shared<EllipticalMeasure>(shape, EllipticalBase::gaussian, RadialLaw::uniform(0.25, 2)),
          [shape](const WideVector& a) -> Wide {
            const Wide half = quadratic(shape, a) / 2;
            return log((exp(2 * half) - exp(half / 4)) / (Wide(1.75) * half));
          }};
}

inline KnownLaw known_elliptical_sphere(unsigned seed) {
  const Matrix shape = random_covariance(3, seed + 40);
  const Vector values = (Vector(2) << 0.25, 2.25).finished();
  const Vector weights = (Vector(2) << 3, 1).finished();
  return {"elliptical, spherical base, discrete W",
          std::make_shared<EllipticalMeasure>(shape, EllipticalBase::sphere,
                                              RadialLaw::discrete(values, weights)),
          [shape](const WideVector& a) -> Wide {
            const Wide x = sqrt(3 * quadratic(shape, a));
            return log((3 * sphere_partition(x / 2) + sphere_partition(x * 3 / 2)) / 4);
          }};
}

inline KnownLaw known_affine(unsigned seed) {
  const Matrix map = random_matrix(3, 3, seed + 50);
  const Vector offset = random_matrix(3, 1, seed + 51);
  const MeasurePtr base = std::make_shared<ProductMeasure>(3, rademacher());
  return {"affine image", std::make_shared<AffineMeasure>(map, offset, base),
          [map, offset](const WideVector& a) -> Wide {
            Wide value = dot(a, wide(offset));
            for (std::ptrdiff_t j = 0; j < 3; ++j) value += log(cosh(dot(a, wide(map.col(j)))));
            return value;
          }};
}

inline KnownLaw known_prompt(std::ptrdiff_t length, unsigned seed) {
  const RowMatrix tokens = 2 * random_matrix(length, 3, seed + 60);
  return {"prompt of " + std::to_string(length), std::make_shared<EmpiricalMeasure>(tokens),
          prompt_log_partition(tokens, Vector::Ones(length))};
}

inline KnownLaw known_weighted_prompt(std::ptrdiff_t length, unsigned seed) {
  const RowMatrix tokens = 2 * random_matrix(length, 3, seed + 70);
  Vector weights = random_matrix(length, 1, seed + 71).cwiseAbs();
  weights[length / 2] = 0;
  return {"weighted prompt", std::make_shared<EmpiricalMeasure>(tokens, weights),
          prompt_log_partition(tokens, weights)};
}

inline std::vector<KnownLaw> known_laws(unsigned seed) {
  return {known_gaussian(seed),
          known_mixture(seed),
          known_product(),
          known_sphere(),
          known_ball(),
          known_elliptical_gaussian(seed),
          known_elliptical_sphere(seed),
          known_affine(seed),
          known_prompt(1, seed),
          known_prompt(13, seed),
          known_weighted_prompt(11, seed)};
}

}  // namespace largo::test
