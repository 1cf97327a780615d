// Tasks and parameters that the tests of this folder share.
#pragma once

#include <cmath>
#include <limits>

#include "largo/icl/law_regression.hpp"
#include "largo/icl/mixture_classification.hpp"
#include "largo/icl/prompt_risk.hpp"
#include "largo/measures/gaussian.hpp"
#include "largo/measures/product.hpp"
#include "largo/measures/sphere.hpp"

namespace largo::test {

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// Standard normal numbers, which depend on the id alone.
inline Matrix random_matrix(std::uint64_t id, Eigen::Index rows, Eigen::Index columns) {
  Matrix values(rows, columns);
  Stream(3, id).normals(0, {values.data(), static_cast<std::size_t>(values.size())});
  return values;
}

inline Matrix random_covariance(std::uint64_t id, Eigen::Index d) {
  const Matrix root = random_matrix(id, d, d) / std::sqrt(static_cast<double>(d));
  return root * root.transpose() + 0.2 * Matrix::Identity(d, d);
}

inline MeasurePtr gaussian(const Matrix& covariance) {
  return std::make_shared<GaussianMeasure>(Vector::Zero(covariance.rows()), covariance);
}

/// Gaussian covariates and noise, another covariance for the queries, and a prior that is not round.
struct GaussianRegression {
  Matrix covariance = random_covariance(1, 3);
  Matrix query_covariance = random_covariance(2, 3);
  Matrix prior_root = random_matrix(3, 3, 3) / 2;
  double noise_variance = 0.3;

  PromptTaskPtr task() const {
    return std::make_shared<LawRegression>(RegressionLaws{
        gaussian(covariance), gaussian(query_covariance), gaussian(prior_root * prior_root.transpose()),
        noise_variance > 0 ? gaussian(Matrix::Constant(1, 1, noise_variance)) : nullptr});
  }
};

inline PromptTaskPtr rademacher_regression(Eigen::Index d) {
  return std::make_shared<LawRegression>(RegressionLaws{std::make_shared<ProductMeasure>(d, rademacher())});
}

inline PromptTaskPtr classification() {
  return std::make_shared<MixtureClassification>(1.2, random_covariance(4, 2));
}

}  // namespace largo::test
