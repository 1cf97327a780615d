#include "largo/icl/ridge_floor.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <span>

#include "largo/numerics/check.hpp"
#include "largo/numerics/factor.hpp"
#include "sampling/chi_squared.hpp"

namespace largo {
namespace {

constexpr const char* kName = "ridge_floor";
constexpr double kMostCounted = 0x1p53;  // lengths beyond are taken for their mean
constexpr double kRank = 1e-13;          // of the singular values, as in covariance_root
constexpr double kIsotropic = 1e-12;
constexpr double kLeastNoise = 1e-250;                       // of D², so that no quotient overflows
constexpr std::uint64_t kUniforms = std::uint64_t{1} << 61;  // counters from the normals to the uniforms

// In coordinates where Cᵀ P = A D Bᵀ (Σ = C Cᵀ): the posterior covariance is B (I + D W D/τ²)⁻¹ Bᵀ with the
// m x m Wishart matrix W of L degrees, and the identity across B. So R* = ½ (across + E ‖F‖² taken in the
// metric (I + D W D/τ²)⁻¹), F Fᵀ = Bᵀ Pᵀ Σ_q P B.
struct Reduced {
  Vector D;
  Matrix F;           // m x (rank of Σ_q)
  double across = 0;  // tr of Pᵀ Σ_q P where tokens say nothing of the task
  double noise = 0;   // τ², and zero where it is too small to matter
};

Reduced reduce(const RegressionProblem& problem) {
  check(problem);
  const Matrix C = covariance_root(kName, "covariance", problem.covariance).root;
  const Matrix P = covariance_root(kName, "prior_covariance", problem.prior_covariance).root;
  const Matrix C_q = covariance_root(kName, "query_covariance", problem.query_covariance).root;
  Reduced reduced;
  reduced.noise = problem.noise;
  const Matrix seen = P.transpose() * C_q;  // r x k
  if (C.cols() == 0 || P.cols() == 0) {
    reduced.across = seen.squaredNorm();
    return reduced;
  }
  const SingularValues s = singular_values(C.transpose() * P);
  Eigen::Index m = 0;
  while (m < s.values.size() && s.values[m] > kRank * s.values[0]) ++m;
  reduced.D = s.values.head(m);
  if (m > 0 && reduced.noise < kLeastNoise * reduced.D[0] * reduced.D[0]) reduced.noise = 0;
  reduced.F = s.right.leftCols(m).transpose() * seen;
  reduced.across = (s.right.rightCols(P.cols() - m).transpose() * seen).squaredNorm();
  return reduced;
}

// Turns column k of K, from row k on, into its length by a reflection, which it also applies to the columns
// after it and to G.
void reflect(Eigen::Index k, Matrix& K, Matrix& G) {
  const Eigen::Index rows = K.rows() - k;
  const double norm = K.col(k).tail(rows).norm();
  if (norm == 0) return;
  Vector v = K.col(k).tail(rows);
  v[0] += v[0] < 0 ? -norm : norm;
  const double scale = 2 / v.squaredNorm();
  const auto apply = [&](Matrix& A, Eigen::Index first) {
    for (Eigen::Index j = first; j < A.cols(); ++j) {
      const double along = scale * v.dot(A.col(j).tail(rows));
      A.col(j).tail(rows) -= along * v;
    }
  };
  apply(K, k);
  apply(G, 0);
}

// The root of a unit, 2^k, in which values are of order one: fourth powers of samples must stay in range, and
// without noise to speak of a long prompt leaves little. Values are of the size of ‖F‖² where L < m, and else
// of what the mean of W leaves.
double root_of_unit(const Reduced& reduced, std::int64_t L) {
  double size = 0;
  for (Eigen::Index j = 0; j < reduced.D.size(); ++j) {
    const double told =
        L < reduced.D.size() ? 0 : static_cast<double>(L) * (reduced.D[j] * reduced.D[j] / reduced.noise);
    size += reduced.F.row(j).squaredNorm() / (1 + told);
  }
  return size > 0 ? std::scalbn(1.0, std::ilogb(size) / 2) : 1;
}

// Values and controls over the unit.
class FloorSampler final : public Sampler {
 public:
  FloorSampler(const Reduced& reduced, double root, std::int64_t L, std::uint64_t seed)
      : reduced_(reduced),
        root_(root),
        L_(L),
        seed_(seed),
        m_(reduced.D.size()),
        n_(std::min<std::int64_t>(m_, L)) {
    if (reduced.noise == 0) return;
    const Vector D2 = reduced.D.cwiseAbs2() / reduced.noise;
    inner_ = D2.array() / (1 + static_cast<double>(L) * D2.array());
    const Matrix HF = (inner_.array() / reduced.D.array()).matrix().asDiagonal() * reduced.F;
    outer_ = reduced.noise / (root * root) * HF * HF.transpose();
  }

  void sample(std::uint64_t index, std::span<double> values, std::span<double> controls) override {
    const Matrix A = bartlett(index);
    // The part of F across the columns of (D A, τ I), by reflections: nothing cancels.
    Matrix K = Matrix::Zero(m_ + n_, n_), G = Matrix::Zero(m_ + n_, reduced_.F.cols());
    K.topRows(m_) = reduced_.D.asDiagonal() * A;
    K.bottomRows(n_).diagonal().setConstant(std::sqrt(reduced_.noise));
    G.topRows(m_) = reduced_.F;
    for (Eigen::Index k = 0; k < n_; ++k) reflect(k, K, G);
    values[0] = (G.bottomRows(m_) / root_).squaredNorm() / 2;
    if (reduced_.noise > 0) expand(A, controls);
  }

 private:
  // W = A Aᵀ, A lower triangular: √χ²_{L-j} on the diagonal, normals below; min(m, L) columns.
  Matrix bartlett(std::uint64_t index) const {
    ChiSquaredDraws draws({seed_, index, 0}, {seed_, index, kUniforms});
    Matrix A = Matrix::Zero(m_, n_);
    for (Eigen::Index j = 0; j < n_; ++j) {
      A(j, j) = std::sqrt(draws.chi_squared(L_ - j));
      for (Eigen::Index i = j + 1; i < m_; ++i) A(i, j) = draws.normal();
    }
    return A;
  }

  // With Δ = W - L I and H = (I + L D²/τ²)⁻¹, the value is ½ tr F Fᵀ (H - H D Δ D H/τ² + H D Δ D H D Δ D H/τ⁴
  // - ...); the second and the third term, less their means (E Δ M Δ = L (M + tr M) for diagonal M).
  void expand(const Matrix& A, std::span<double> controls) const {
    Matrix delta = A * A.transpose();
    const auto length = static_cast<double>(L_);
    delta.diagonal().array() -= length;
    double linear = 0, quadratic = 0;
    for (Eigen::Index i = 0; i < m_; ++i) {
      for (Eigen::Index k = 0; k < m_; ++k) {
        linear += outer_(i, k) * delta(i, k);
        double product = 0;
        for (Eigen::Index j = 0; j < m_; ++j) product += delta(i, j) * inner_[j] * delta(j, k);
        quadratic += outer_(i, k) * product;
      }
    }
    const double mean = length * (outer_.diagonal().dot(inner_) + outer_.trace() * inner_.sum());
    controls[0] = -linear / 2;
    controls[1] = (quadratic - mean) / 2;
  }

  const Reduced& reduced_;
  double root_;
  std::int64_t L_;
  std::uint64_t seed_;
  Eigen::Index m_, n_;
  Vector inner_;  // D² H/τ²
  Matrix outer_;  // D H F Fᵀ H D/τ²
};

class FloorExperiment final : public Experiment {
 public:
  FloorExperiment(const Reduced& reduced, double root, std::int64_t L, std::uint64_t seed)
      : reduced_(reduced), root_(root), L_(L), seed_(seed) {}
  std::size_t quantities() const override { return 1; }
  std::unique_ptr<Sampler> sampler() const override {
    return std::make_unique<FloorSampler>(reduced_, root_, L_, seed_);
  }

 private:
  const Reduced& reduced_;
  double root_;
  std::int64_t L_;
  std::uint64_t seed_;
};

bool is_isotropic(const Vector& D) { return D[0] - D[D.size() - 1] <= kIsotropic * D[0]; }

RidgeFloor exact(double value) { return {value, 0, value, value, 0}; }

}  // namespace

RidgeFloor ridge_floor(const RegressionProblem& problem, double length, const SamplingPlan& plan,
                       std::uint64_t seed, const Execution& execution) {
  if (!(length >= 1) || length != std::floor(length)) {
    fail(kName, "length", length, "a whole number, at least 1, or infinite");
  }
  const Reduced reduced = reduce(problem);
  const double across = reduced.across / 2;
  const auto m = static_cast<double>(reduced.D.size());
  if (m == 0 || std::isinf(length) || (reduced.noise == 0 && length >= m)) return exact(across);
  if (reduced.noise == 0 && is_isotropic(reduced.D)) {
    return exact(across + (1 - length / m) * reduced.F.squaredNorm() / 2);
  }
  if (length >= kMostCounted) {
    double sum = 0;
    for (Eigen::Index j = 0; j < reduced.D.size(); ++j) {
      sum += reduced.F.row(j).squaredNorm() / (1 + length * (reduced.D[j] * reduced.D[j] / reduced.noise));
    }
    return exact(across + sum / 2);
  }
  const auto L = static_cast<std::int64_t>(length);
  const double root = root_of_unit(reduced, L), unit = root * root;
  const FloorExperiment experiment(reduced, root, L, seed);
  const SampledMean mean = sample_means(experiment, plan, execution).front();
  return {across + unit * mean.value, unit * mean.standard_error, across + unit * mean.low,
          across + unit * mean.high, mean.samples};
}

}  // namespace largo
