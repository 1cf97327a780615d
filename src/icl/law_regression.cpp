#include "largo/icl/law_regression.hpp"

#include <cmath>
#include <utility>

#include <Eigen/Eigenvalues>

#include "largo/measures/affine.hpp"
#include "largo/measures/gaussian.hpp"
#include "largo/measures/independent_pair.hpp"
#include "largo/runtime/check.hpp"
#include "numerics/factor.hpp"

namespace largo {
namespace {

constexpr const char* kLawRegression = "LawRegression";
// Substreams of a draw.
constexpr std::uint64_t kPriorStream = 0;
constexpr std::uint64_t kQueryStream = 1;
constexpr std::uint64_t kScaleStream = 2;

Matrix second_moment(const Measure& law) {
  const Vector mean = law.mean();
  return law.covariance() + mean * mean.transpose();
}

Vector drawn(const Measure& law, const Stream& stream, Eigen::Index count) {
  RowMatrix rows(count, law.dimension());
  law.sample(stream, 0, rows);
  return rows.reshaped<Eigen::RowMajor>();
}

// The covariance of a centred Gaussian law.
std::optional<Matrix> centred_gaussian(const MeasurePtr& law) {
  if (dynamic_cast<const GaussianMeasure*>(law.get()) == nullptr || !law->mean().isZero(0)) return {};
  return law->covariance();
}

}  // namespace

LawRegression::LawRegression(RegressionLaws laws) : laws_(std::move(laws)) {
  if (!laws_.covariates) fail(kLawRegression, "the law of the covariates is null");
  if (!laws_.queries) laws_.queries = laws_.covariates;
  const Eigen::Index d = laws_.covariates->dimension(), m = laws_.outputs;
  if (m < 1) fail(kLawRegression, "outputs", static_cast<double>(m), "at least 1");
  if (!laws_.prior) laws_.prior = std::make_shared<GaussianMeasure>(GaussianMeasure::standard(d));
  check_size(kLawRegression, "queries", laws_.queries->dimension(), d);
  if (laws_.prior->dimension() != d) {
    if (m == 1) check_size(kLawRegression, "prior", laws_.prior->dimension(), d);
    check_size(kLawRegression, "prior (if not the dimension of the covariates)", laws_.prior->dimension(),
               m * d);
  }
  const Matrix moment = second_moment(*laws_.prior);
  for (Eigen::Index k = 0; k < m; ++k) {
    const Eigen::Index first = laws_.prior->dimension() == d ? 0 : k * d;
    prior_roots_.push_back(
        numerics::covariance_root(kLawRegression, "prior", moment.block(first, first, d, d)).root);
  }
  noise_variances_ = Vector::Zero(m);
  if (laws_.noise) {
    check_size(kLawRegression, "noise", laws_.noise->dimension(), m);
    base_ = std::make_shared<IndependentPair>(laws_.covariates, laws_.noise);
    noise_variances_ = second_moment(*laws_.noise).diagonal();
  } else {
    base_ = laws_.covariates;
  }
  if (laws_.noise_scale) {
    if (!laws_.noise) fail(kLawRegression, "a law of the scale of the noise needs noise");
    check_size(kLawRegression, "noise_scale", laws_.noise_scale->dimension(), 1);
    noise_variances_ *= second_moment(*laws_.noise_scale)(0, 0);
  }
}

PromptDraw LawRegression::draw(const Stream& stream) const {
  const Eigen::Index d = laws_.covariates->dimension(), m = laws_.outputs;
  const Vector rows = drawn(*laws_.prior, stream.substream(kPriorStream), m * d / laws_.prior->dimension());
  const Matrix W = rows.reshaped<Eigen::RowMajor>(m, d);
  const Vector x = drawn(*laws_.queries, stream.substream(kQueryStream), 1);

  Matrix map = Matrix::Zero(d + m, base_->dimension());
  map.topLeftCorner(d, d).setIdentity();
  map.bottomLeftCorner(m, d) = W;
  if (laws_.noise) {
    const double s =
        laws_.noise_scale ? drawn(*laws_.noise_scale, stream.substream(kScaleStream), 1)[0] : 1.0;
    map.bottomRightCorner(m, m).diagonal().setConstant(s);
  }
  Vector query = Vector::Zero(d + m);
  query.head(d) = x;
  return {std::make_shared<AffineMeasure>(AffineMeasure::linear_image(std::move(map), base_)),
          std::move(query), W * x};
}

// With Ω = P Pᵀ and the eigenvectors of Pᵀ Σ̂ P, ridge divides by the eigenvalues plus τ²/L. Directions that
// the prompt has not shown have eigenvalues of zero; without noise the pseudo-inverse leaves them out.
Vector LawRegression::learn(const Matrix& second_moment, double L, const Vector& query) const {
  const Eigen::Index d = laws_.covariates->dimension(), m = laws_.outputs;
  constexpr double kNothing = 1e-13;
  Vector output(m);
  for (Eigen::Index k = 0; k < m; ++k) {
    const Matrix& P = prior_roots_[static_cast<std::size_t>(k)];
    const Eigen::SelfAdjointEigenSolver<Matrix> seen(P.transpose() * second_moment.topLeftCorner(d, d) * P);
    const double ridge = noise_variances_[k] / L;
    const double least = kNothing * seen.eigenvalues().cwiseAbs().maxCoeff();
    const Vector factors = seen.eigenvalues().unaryExpr([&](double value) {
      const double sum = std::max(value, 0.0) + ridge;
      return sum > least ? 1 / sum : 0.0;
    });
    const Vector along = seen.eigenvectors().transpose() * (P.transpose() * second_moment.col(d + k).head(d));
    const Vector w = P * (seen.eigenvectors() * factors.cwiseProduct(along));
    output[k] = w.dot(query.head(d));
  }
  return output;
}

double LawRegression::mean_square_target() const {
  const Matrix moment = second_moment(*laws_.queries);
  double sum = 0;
  for (const Matrix& P : prior_roots_) sum += (P.transpose() * moment * P).trace();
  return sum;
}

std::optional<RegressionProblem> LawRegression::gaussian_problem() const {
  if (laws_.outputs != 1 || laws_.noise_scale) return {};
  const auto covariance = centred_gaussian(laws_.covariates), query = centred_gaussian(laws_.queries),
             prior = centred_gaussian(laws_.prior);
  const auto noise = laws_.noise ? centred_gaussian(laws_.noise) : Matrix::Zero(1, 1);
  if (!covariance || !query || !prior || !noise) return {};
  return RegressionProblem{*covariance, *query, *prior, (*noise)(0, 0), 1};
}

PromptTaskPtr with_covariates(const RegressionProblem& problem, MeasurePtr covariates) {
  refuse_sink(problem);
  check_size("icl", "dimension of the covariates", covariates->dimension(), problem.dimension());
  const auto gaussian = [](const Matrix& covariance) {
    return std::make_shared<GaussianMeasure>(Vector::Zero(covariance.rows()), covariance);
  };
  RegressionLaws laws;
  laws.covariates = std::move(covariates);
  laws.prior = gaussian(problem.prior_covariance);
  if (problem.noise_variance > 0) laws.noise = gaussian(Matrix::Constant(1, 1, problem.noise_variance));
  return std::make_shared<LawRegression>(laws);
}

}  // namespace largo
