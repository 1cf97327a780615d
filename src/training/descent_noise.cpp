#include "largo/training/descent_noise.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "largo/runtime/check.hpp"
#include "numerics/factor.hpp"
#include "runtime/distribute.hpp"
#include "training/flow_integrator.hpp"

namespace largo {
namespace {

constexpr const char* kDescentNoise = "descent_noise";
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kHessianDifference = 1e-5;  // balances third derivatives against the rounding of gradients
constexpr double kTypicalShare = 1e-6;       // least size of a parameter, relative to a typical one
constexpr double kMostAway = 0.1;            // falling directions may undo this share of what rising ones add

// 1 + r + ... + r^{n-1} for r = (1 - x)(1 - y), |1 - x| and |1 - y| at most slightly above 1.
double geometric_sum(double x, double y, std::int64_t n) {
  const double less = x + y - x * y;  // 1 - r
  if (less == 0) return static_cast<double>(n);
  if (less >= 0.5) return (1 - std::pow(1 - less, static_cast<double>(n))) / less;
  return -std::expm1(static_cast<double>(n) * std::log1p(-less)) / less;
}

}  // namespace

Matrix hessian(const Risk& risk, const ConstVectorRef& parameters, const Execution& execution) {
  const Eigen::Index size = parameters.size();
  check_size("hessian", "parameters", size, risk.size());
  Matrix second(size, size);
  Vector at = parameters;
  // Differences are in units of the parameters. If all of them are zero there is no unit, and 1 is taken.
  const double norm = training::norm_of(parameters);
  const double typical = norm > 0 ? norm / std::sqrt(static_cast<double>(size)) : 1 / kTypicalShare;
  for (Eigen::Index i = 0; i < size; ++i) {
    runtime::check_stop(execution);
    const double step = kHessianDifference * std::max(kTypicalShare * typical, std::abs(parameters[i]));
    at[i] = parameters[i] + step;
    second.col(i) = risk.at(at).gradient;
    at[i] = parameters[i] - step;
    second.col(i) -= risk.at(at).gradient;
    second.col(i) /= 2 * step;
    at[i] = parameters[i];
  }
  return (second + second.transpose()) / 2;
}

Matrix gradient_covariance(const StochasticRisk& batches, const ConstVectorRef& parameters,
                           std::int64_t first, std::int64_t count) {
  check_size("gradient_covariance", "parameters", parameters.size(), batches.size());
  if (count < 2) fail("gradient_covariance", "count", static_cast<double>(count), "at least 2");
  Vector mean = Vector::Zero(parameters.size());
  Matrix products = Matrix::Zero(parameters.size(), parameters.size());
  for (std::int64_t n = 0; n < count; ++n) {
    const Vector change = batches.batch(parameters, first + n).gradient - mean;
    mean += change / static_cast<double>(n + 1);
    products.selfadjointView<Eigen::Lower>().rankUpdate(change,
                                                        static_cast<double>(n) / static_cast<double>(n + 1));
  }
  return Matrix(products.selfadjointView<Eigen::Lower>()) / static_cast<double>(count - 1);
}

DescentNoise descent_noise(const ConstVectorRef& slope, const ConstMatrixRef& hessian,
                           const ConstMatrixRef& covariance, double step_size, std::int64_t steps) {
  const Eigen::Index size = hessian.rows();
  check_symmetric(kDescentNoise, "hessian", hessian);
  check_symmetric(kDescentNoise, "covariance", covariance);
  check_shape(kDescentNoise, "covariance", covariance.rows(), covariance.cols(), size, size);
  check_size(kDescentNoise, "slope", slope.size(), size);
  check_finite(kDescentNoise, "slope", slope);
  check_positive(kDescentNoise, "step_size", step_size);
  if (steps < 0) fail(kDescentNoise, "steps", static_cast<double>(steps), "at least 0");
  if (size == 0) return {};
  const auto [values, vectors] = numerics::symmetric_eigenvalues(hessian);
  const Vector forgotten = step_size * values;  // share forgotten in a step
  if (!(forgotten[size - 1] < 2)) return {kInfinity, kInfinity};
  const Matrix along = vectors.transpose() * covariance * vectors;
  const Vector g = vectors.transpose() * slope;
  double rising = 0, falling = 0, variance = 0;
  for (Eigen::Index j = 0; j < size; ++j) {
    for (Eigen::Index i = 0; i < size; ++i) {
      const double C = step_size * step_size * along(i, j) * geometric_sum(forgotten[i], forgotten[j], steps);
      if (i == j) (values[i] < 0 ? falling : rising) += values[i] * C / 2;
      variance += g[i] * C * g[j] + values[i] * values[j] * C * C / 2;
    }
  }
  if (!(-falling <= kMostAway * rising)) return {kInfinity, kInfinity};
  return {rising + falling, std::sqrt(std::max(variance, 0.0))};
}

}  // namespace largo
