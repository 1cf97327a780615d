#include "largo/icl/mixture_classification.hpp"

#include <cmath>
#include <utility>

#include <Eigen/Cholesky>

#include "largo/measures/affine.hpp"
#include "largo/measures/gaussian.hpp"
#include "largo/measures/independent_pair.hpp"
#include "largo/measures/product.hpp"
#include "largo/runtime/check.hpp"

namespace largo {
namespace {

// Substreams of a draw.
constexpr std::uint64_t kMeanStream = 0;
constexpr std::uint64_t kLabelStream = 1;
constexpr std::uint64_t kClassQueryStream = 2;
constexpr double kLeastCondition = 1e-12;  // of Σ, for the Bayes predictor

}  // namespace

MixtureClassification::MixtureClassification(double mean_scale, const ConstMatrixRef& covariance)
    : mean_scale_(mean_scale) {
  check_positive("MixtureClassification", "mean_scale", mean_scale);
  check_finite("MixtureClassification", "mean_scale", mean_scale);
  within_ = std::make_shared<GaussianMeasure>(Vector::Zero(covariance.rows()), covariance);
  base_ = std::make_shared<IndependentPair>(std::make_shared<ProductMeasure>(1, rademacher()), within_);
  const Eigen::LLT<Matrix> factor(covariance);
  if (factor.info() == Eigen::Success && factor.rcond() > kLeastCondition) {
    precision_ = factor.solve(Matrix::Identity(covariance.rows(), covariance.cols()));
  }
}

PromptDraw MixtureClassification::draw(const Stream& stream) const {
  const Eigen::Index d = within_->dimension();
  Vector mean(d);
  stream.substream(kMeanStream).normals(0, {mean.data(), static_cast<std::size_t>(d)});
  mean *= mean_scale_;
  double uniform = 0;
  stream.substream(kLabelStream).uniforms(0, {&uniform, 1});
  const double label = uniform < 0.5 ? -1 : 1;
  RowMatrix noise(1, d);
  within_->sample(stream.substream(kClassQueryStream), 0, noise);

  // (y, ξ) -> (y m + ξ, y)
  Matrix map = Matrix::Zero(d + 1, d + 1);
  map.col(0).head(d) = mean;
  map(d, 0) = 1;
  map.topRightCorner(d, d).setIdentity();
  Vector query = Vector::Zero(d + 1);
  query.head(d) = label * mean + noise.row(0).transpose();
  return {std::make_shared<AffineMeasure>(AffineMeasure::linear_image(std::move(map), base_)),
          std::move(query), Vector::Constant(1, label)};
}

Vector MixtureClassification::learn(const Matrix& second_moment, double L, const Vector& query) const {
  const Eigen::Index d = within_->dimension();
  const Vector labelled = second_moment.col(d).head(d);  // (1/L) Σ y x
  Matrix S = Matrix::Zero(d, d);
  Vector mean = labelled;
  if (std::isfinite(L)) {
    const Matrix I = Matrix::Identity(d, d);
    S = (I / (mean_scale_ * mean_scale_) + L * precision_).llt().solve(I);
    mean = L * S * (precision_ * labelled);
  }
  return Vector::Constant(1, 2 * (within_->covariance() + S).llt().solve(mean).dot(query.head(d)));
}

}  // namespace largo
