#include "largo/icl/regression_task_sampler.hpp"

#include <utility>

#include "largo/measures/affine.hpp"
#include "largo/measures/gaussian.hpp"
#include "largo/measures/independent_pair.hpp"
#include "largo/runtime/check.hpp"
#include "numerics/factor.hpp"

namespace largo {
namespace {

constexpr const char* kRegressionTaskSampler = "RegressionTaskSampler";
// Substreams of a draw.
constexpr std::uint64_t kPriorStream = 0;
constexpr std::uint64_t kQueryStream = 1;

}  // namespace

RegressionTaskSampler::RegressionTaskSampler(RegressionLaws laws) : laws_(std::move(laws)) {
  if (!laws_.covariates) fail(kRegressionTaskSampler, "the law of the covariates is null");
  if (!laws_.queries) laws_.queries = laws_.covariates;
  const Eigen::Index d = laws_.covariates->dimension();
  check_size(kRegressionTaskSampler, "queries", laws_.queries->dimension(), d);
  check_shape(kRegressionTaskSampler, "prior_root", laws_.prior_root.rows(), laws_.prior_root.cols(), d,
              laws_.prior_root.cols());
  check_finite(kRegressionTaskSampler, "prior_root", laws_.prior_root);
  if (laws_.noise) {
    check_size(kRegressionTaskSampler, "noise", laws_.noise->dimension(), 1);
    base_ = std::make_shared<IndependentPair>(laws_.covariates, laws_.noise);
  } else {
    base_ = laws_.covariates;
  }
}

PromptDraw RegressionTaskSampler::draw(const Stream& stream) const {
  const Eigen::Index d = laws_.covariates->dimension();
  Vector omega(laws_.prior_root.cols());
  stream.substream(kPriorStream).normals(0, {omega.data(), static_cast<std::size_t>(omega.size())});
  const Vector w = laws_.prior_root * omega;
  RowMatrix x(1, d);
  laws_.queries->sample(stream.substream(kQueryStream), 0, x);

  Matrix map = Matrix::Zero(d + 1, base_->dimension());
  map.topLeftCorner(d, d).setIdentity();
  map.row(d).head(d) = w.transpose();
  if (laws_.noise) map(d, d) = 1;
  Vector query = Vector::Zero(d + 1);
  query.head(d) = x.row(0).transpose();
  const double target = w.dot(query.head(d));
  return {std::make_shared<AffineMeasure>(AffineMeasure::linear_image(std::move(map), base_)),
          std::move(query), target};
}

PromptTaskPtr with_covariates(const RegressionProblem& problem, MeasurePtr covariates) {
  check_size("icl", "dimension of the covariates", covariates->dimension(), problem.dimension());
  RegressionLaws laws;
  laws.covariates = std::move(covariates);
  laws.prior_root = numerics::covariance_root("icl", "prior", problem.prior_covariance).root;
  if (problem.noise_variance > 0) {
    laws.noise =
        std::make_shared<GaussianMeasure>(Vector::Zero(1), Matrix::Constant(1, 1, problem.noise_variance));
  }
  return std::make_shared<RegressionTaskSampler>(laws);
}

}  // namespace largo
