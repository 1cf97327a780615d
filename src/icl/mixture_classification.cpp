#include "largo/icl/mixture_classification.hpp"

#include <utility>

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

}  // namespace

MixtureClassification::MixtureClassification(double mean_scale, const ConstMatrixRef& covariance)
    : mean_scale_(mean_scale) {
  check_positive("MixtureClassification", "mean_scale", mean_scale);
  check_finite("MixtureClassification", "mean_scale", mean_scale);
  within_ = std::make_shared<GaussianMeasure>(Vector::Zero(covariance.rows()), covariance);
  base_ = std::make_shared<IndependentPair>(std::make_shared<ProductMeasure>(1, rademacher()), within_);
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
          std::move(query), label};
}

}  // namespace largo
