#include "largo/training/descent_noise.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "largo/numerics/check.hpp"
#include "largo/numerics/factor.hpp"

namespace largo {
namespace {

constexpr const char* kName = "descent_noise";
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kDifference = 1e-5;  // balances the third derivatives against rounding of gradients

// 1 + r + ... + r^{n-1}
double geometric_sum(double r, std::int64_t n) {
  if (std::abs(r - 1) < 1e-14) return static_cast<double>(n);
  return (1 - std::pow(r, static_cast<double>(n))) / (1 - r);
}

}  // namespace

Matrix hessian(const Risk& risk, const ConstVectorRef& parameters) {
  const Eigen::Index size = parameters.size();
  check_size("hessian", "parameters", size, risk.size());
  Matrix second(size, size);
  Vector at = parameters;
  for (Eigen::Index i = 0; i < size; ++i) {
    const double step = kDifference * std::max(1.0, std::abs(parameters[i]));
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

DescentNoise descent_noise(const ConstMatrixRef& hessian, const ConstMatrixRef& covariance, double step_size,
                           std::int64_t steps) {
  const Eigen::Index size = hessian.rows();
  check_symmetric(kName, "hessian", hessian);
  check_symmetric(kName, "covariance", covariance);
  check_shape(kName, "covariance", covariance.rows(), covariance.cols(), size, size);
  check_positive(kName, "step_size", step_size);
  if (steps < 0) fail(kName, "steps", static_cast<double>(steps), "at least 0");
  if (size == 0) return {};
  const auto [values, vectors] = symmetric_eigenvalues(hessian);
  if (!(step_size * values[size - 1] < 2)) return {kInfinity, kInfinity};
  const Matrix along = vectors.transpose() * covariance * vectors;
  const Vector rest = 1 - step_size * values.array();
  double excess = 0, squares = 0;
  for (Eigen::Index j = 0; j < size; ++j) {
    for (Eigen::Index i = 0; i < size; ++i) {
      const double C = step_size * step_size * along(i, j) * geometric_sum(rest[i] * rest[j], steps);
      if (i == j) excess += values[i] * C / 2;
      squares += values[i] * values[j] * C * C / 2;
    }
  }
  return {excess, std::sqrt(std::max(squares, 0.0))};
}

}  // namespace largo
