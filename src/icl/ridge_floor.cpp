#include "largo/icl/ridge_floor.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <span>

#include "largo/runtime/check.hpp"
#include "numerics/factor.hpp"
#include "numerics/simd_math.hpp"
#include "prompts/chi_squared.hpp"

namespace largo {
namespace {

constexpr const char* kRidgeFloor = "ridge_floor";
constexpr double kMostCounted = 0x1p53;  // for longer prompts the Wishart matrix is taken at its mean
constexpr double kFloorRounding =
    8 * std::numeric_limits<double>::epsilon();  // rounding of singular values, times their number
constexpr double kIsotropic = 1e-12;
constexpr double kColumnRuleError = 1e-11;                   // relative error of the integral over a column
constexpr double kLeastNoise = 1e-250;                       // relative to D², so that no quotient overflows
constexpr std::uint64_t kUniforms = std::uint64_t{1} << 61;  // counters from the normals to the uniforms

// In coordinates where Cᵀ P = A D Bᵀ (Σ = C Cᵀ), the posterior covariance is B (I + D W D/τ²)⁻¹ Bᵀ with the
// m x m Wishart matrix W of L degrees of freedom, and the identity orthogonal to B. So R* = ½ (across + E
// ‖F‖², taken in the metric (I + D W D/τ²)⁻¹), with F Fᵀ = Bᵀ Pᵀ Σ_q P B.
struct Reduced {
  Vector D;           // relative to the largest, D_0
  Matrix F;           // m x (rank of Σ_q)
  double across = 0;  // tr of Pᵀ Σ_q P where tokens tell nothing about the task
  double noise = 0;   // τ²/D_0², or zero if it is too small to matter
};

Reduced reduce(const RegressionProblem& problem) {
  check(problem);
  const Matrix C = numerics::covariance_root(kRidgeFloor, "covariance", problem.covariance).root;
  const Matrix P = numerics::covariance_root(kRidgeFloor, "prior_covariance", problem.prior_covariance).root;
  const Matrix C_q =
      numerics::covariance_root(kRidgeFloor, "query_covariance", problem.query_covariance).root;
  Reduced reduced;
  const Matrix seen = P.transpose() * C_q;  // r x k
  if (C.cols() == 0 || P.cols() == 0) {
    reduced.across = seen.squaredNorm();
    return reduced;
  }
  const numerics::SingularValues s = numerics::singular_values(C.transpose() * P);
  Eigen::Index m = 0;
  while (m < s.values.size() &&
         s.values[m] > kFloorRounding * static_cast<double>(s.values.size()) * s.values[0])
    ++m;
  if (m > 0) {
    reduced.D = s.values.head(m) / s.values[0];
    const double root = std::sqrt(problem.noise_variance) / s.values[0];
    reduced.noise = root * root < kLeastNoise ? 0 : root * root;
  }
  reduced.F = s.right.leftCols(m).transpose() * seen;
  reduced.across = (s.right.rightCols(P.cols() - m).transpose() * seen).squaredNorm();
  return reduced;
}

// The average of entry (j, j) of the posterior covariance over a column y of X D, given the other columns Y:
//
//   E 1/(1 + Q) = ∫_0^∞ e^{-t} E e^{-tQ} dt = ∫_0^∞ e^{-t} √(T(τ²)/T(τ² + 2tD_j²)) dt,
//   Q = yᵀ(τ² + Y Yᵀ)⁻¹y,   T(s) = s^{L-n} ∏_k (Λ_k + s) (N + s Σ_k q_k²/(Λ_k + s)).
//
// Here Λ_k are the n = min(m, L) nonzero eigenvalues of DXᵀXD, q_k are the entries j of its eigenvectors, and
// N = 1 - Σ q_k²: the determinant of YᵀY + s is that of DXᵀXD + s times entry (j, j) of the inverse. Nothing
// cancels. The rare prompts with y almost in the span of Y, which carry the mean if the noise is faint, are
// integrated out; what is left is a function of Y that varies by a factor of order one.
class ColumnAverage {
 public:
  ColumnAverage(double noise, std::int64_t L) : noise_(noise), L_(static_cast<double>(L)) {}

  double operator()(double D, const Vector& eigenvalues, const Vector& shares, double null_share) {
    const Eigen::ArrayXd shifted = eigenvalues.array() + noise_;
    const double powers = L_ - static_cast<double>(eigenvalues.size());
    const double bracket = null_share + noise_ * (shares.array() / shifted).sum();
    // The integrand is flat up to a fraction of 1/(1 + D² d ln T/ds), and analytic in ln t if |Im ln t| <
    // π/2.
    const double slope = shifted.inverse().sum() + (powers > 0 ? powers / noise_ : 0) +
                         (shares.array() * eigenvalues.array() / shifted.square()).sum() / bracket;
    const double first = -std::log1p(D * D * slope) - kDepth;
    const auto nodes = static_cast<Eigen::Index>((kLastNode - first) / kStep) + 1;
    places_ = first + kStep * Eigen::ArrayXd::LinSpaced(nodes, 0, static_cast<double>(nodes - 1));
    times_.resize(nodes);
    numerics::exp(numbers(places_), numbers(times_));
    moves_ = 2 * D * D * times_;
    exponent_ = places_ - times_;
    product_.setOnes(nodes);
    Eigen::ArrayXd sum = Eigen::ArrayXd::Constant(nodes, null_share);
    for (Eigen::Index k = 0; k < eigenvalues.size(); ++k) {
      sum += shares[k] * (noise_ + moves_) / (shifted[k] + moves_);
      divide_by(1 + moves_ / shifted[k]);
    }
    divide_by(sum / bracket);
    take_logarithm(1);
    if (powers > 0) {
      // log1p: with u = 1 + x rounded, log(u) x/(u - 1) is free of the error of that rounding
      const Eigen::ArrayXd x = moves_ / noise_;
      product_ = 1 + x;
      const Eigen::ArrayXd u = product_;
      take_logarithm((u == 1).select(0.0, powers * x / (u - 1)));
      exponent_ -= (u == 1).select(0.5 * powers * x, 0.0);
    }
    numerics::exp(numbers(exponent_), numbers(exponent_));
    return kStep * exponent_.sum();
  }

 private:
  static std::span<double> numbers(Eigen::ArrayXd& values) {
    return {values.data(), static_cast<std::size_t>(values.size())};
  }

  // Divides the integrand by the square root of the factor, which rises with t from one.
  void divide_by(const Eigen::ArrayXd& factor) {
    if (product_.tail<1>()[0] > kLargestProduct / factor.tail<1>()[0]) take_logarithm(1);
    product_ *= factor;
  }

  template <typename Power>
  void take_logarithm(const Power& power) {
    numerics::log(numbers(product_), numbers(product_));
    exponent_ -= 0.5 * power * product_;
    product_.setOnes();
  }

  static constexpr double kStep = 0.35;     // gives an error of e^{-π²/kStep}, 1e-12
  static constexpr double kDepth = 30;      // leaves out e^-30 below
  static constexpr double kLastNode = 3.6;  // leaves out e^{-e^3.6} above
  static constexpr double kLargestProduct = 1e300;
  double noise_, L_;
  Eigen::ArrayXd places_, times_, moves_, exponent_, product_;
};

// Half the sum over the columns, each with its weight |F_j|². Other entries of the posterior covariance
// average to zero, since both signs of a column are equally likely.
class FloorSampler final : public Sampler {
 public:
  FloorSampler(const Reduced& reduced, double unit, std::int64_t L, std::uint64_t seed)
      : reduced_(reduced),
        weights_(reduced.F.rowwise().squaredNorm() / (2 * unit)),
        L_(L),
        seed_(seed),
        average_(reduced.noise, L) {}

  void sample(std::uint64_t index, std::span<double> values, std::span<double> /*controls*/) override {
    const Matrix A = bartlett(index);
    const numerics::SingularValues svd = numerics::singular_values((reduced_.D.asDiagonal() * A).transpose());
    const Eigen::Index m = A.rows(), n = A.cols();
    const Vector eigenvalues = svd.values.cwiseAbs2();
    for (Eigen::Index j = 0; j < m; ++j) {
      const Vector shares = svd.right.row(j).head(n).cwiseAbs2();
      const double null_share = svd.right.row(j).tail(m - n).squaredNorm();
      values[0] += weights_[j] * average_(reduced_.D[j], eigenvalues, shares, null_share);
    }
  }

 private:
  // XᵀX = A Aᵀ with A lower triangular: √χ²_{L-j} on the diagonal, normals below it, and min(m, L) columns.
  Matrix bartlett(std::uint64_t index) const {
    const Eigen::Index m = reduced_.D.size(), n = std::min<std::int64_t>(m, L_);
    prompts::ChiSquaredDraws draws({seed_, index, 0}, {seed_, index, kUniforms});
    Matrix A = Matrix::Zero(m, n);
    for (Eigen::Index j = 0; j < n; ++j) {
      A(j, j) = std::sqrt(draws.chi_squared(L_ - j));
      for (Eigen::Index i = j + 1; i < m; ++i) A(i, j) = draws.normal();
    }
    return A;
  }

  const Reduced& reduced_;
  Vector weights_;
  std::int64_t L_;
  std::uint64_t seed_;
  ColumnAverage average_;
};

// A power of two of the size of the values, whose fourth powers must stay in range: the value for prompts
// whose XᵀX is L times the identity.
double unit_of(const Reduced& reduced, std::int64_t L) {
  const Eigen::Index m = reduced.D.size();
  double size = 0;
  ColumnAverage average(reduced.noise, L);
  for (Eigen::Index j = 0; j < m; ++j) {
    const double left =
        L < m ? 1
              : average(reduced.D[j], static_cast<double>(L) * reduced.D.cwiseAbs2(), Vector::Unit(m, j), 0);
    size += reduced.F.row(j).squaredNorm() * left;
  }
  return size > 0 ? std::scalbn(1.0, std::ilogb(size)) : 1;
}

class FloorExperiment final : public Experiment {
 public:
  FloorExperiment(const Reduced& reduced, double unit, std::int64_t L, std::uint64_t seed)
      : reduced_(reduced), unit_(unit), L_(L), seed_(seed) {}
  std::size_t quantities() const override { return 1; }
  std::unique_ptr<Sampler> sampler() const override {
    return std::make_unique<FloorSampler>(reduced_, unit_, L_, seed_);
  }

 private:
  const Reduced& reduced_;
  double unit_;
  std::int64_t L_;
  std::uint64_t seed_;
};

bool is_isotropic(const Vector& D) { return D[0] - D[D.size() - 1] <= kIsotropic * D[0]; }

RidgeFloor exact_floor(double value) { return {value, 0, value, value, 0}; }

}  // namespace

RidgeFloor ridge_floor(const RegressionProblem& problem, double length, const SamplingPlan& plan,
                       std::uint64_t seed, const Execution& execution) {
  if (!(length >= 1) || length != std::floor(length)) {
    fail(kRidgeFloor, "length", length, "a whole number, at least 1, or infinite");
  }
  const Reduced reduced = reduce(problem);
  const double across = reduced.across / 2;
  const auto m = static_cast<double>(reduced.D.size());
  if (m == 0 || std::isinf(length) || (reduced.noise == 0 && length >= m)) return exact_floor(across);
  if (reduced.noise == 0 && is_isotropic(reduced.D)) {
    return exact_floor(across + (1 - length / m) * reduced.F.squaredNorm() / 2);
  }
  if (length >= kMostCounted) {
    double sum = 0;
    for (Eigen::Index j = 0; j < reduced.D.size(); ++j) {
      sum += reduced.F.row(j).squaredNorm() / (1 + length * (reduced.D[j] * reduced.D[j] / reduced.noise));
    }
    return exact_floor(across + sum / 2);
  }
  const auto L = static_cast<std::int64_t>(length);
  const double unit = unit_of(reduced, L);
  const FloorExperiment experiment(reduced, unit, L, seed);
  SamplingPlan without_controls = plan;
  without_controls.use_controls = false;
  // With a single column there are no others to be drawn.
  if (reduced.D.size() == 1) without_controls.samples = 2;
  const SampledMean mean = sample_means(experiment, without_controls, execution).front();
  const double value = across + unit * mean.value;
  const double rule = kColumnRuleError * value;
  if (reduced.D.size() == 1) return {value, rule, value - rule, value + rule, 0};
  return {value, std::hypot(unit * mean.standard_error, rule), across + unit * mean.low - rule,
          across + unit * mean.high + rule, mean.samples};
}

}  // namespace largo
