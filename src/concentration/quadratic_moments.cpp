#include "concentration/quadratic_moments.hpp"

#include <cmath>
#include <limits>
#include <vector>

#include "numerics/factor.hpp"

namespace largo::concentration {

double gaussian_norm_moment(const Vector& mean, const ConstMatrixRef& covariance, int p) {
  const auto size = static_cast<std::size_t>(p) + 1;
  std::vector<double> cumulants(size), moments(size);
  Matrix power = Matrix::Identity(mean.size(), mean.size());  // Γ^{j-1}
  double factor = 1;                                          // 2^{j-1} (j-1)!
  for (std::size_t j = 1; j < size; ++j) {
    const Matrix next = power * covariance;
    cumulants[j] = factor * (next.trace() + static_cast<double>(j) * mean.dot(power * mean));
    power = next;
    factor *= 2 * static_cast<double>(j);
  }
  moments[0] = 1;
  for (std::size_t n = 1; n < size; ++n) {
    double binomial = 1;  // n-1 over j-1
    for (std::size_t j = 1; j <= n; ++j) {
      moments[n] += binomial * cumulants[j] * moments[n - j];
      binomial *= static_cast<double>(n - j) / static_cast<double>(j);
    }
  }
  const double moment = moments.back();
  return std::isnan(moment) ? std::numeric_limits<double>::infinity() : moment;
}

ExponentialMoment log_exponential_moment(const Vector& mean, const ConstMatrixRef& root,
                                         const ConstMatrixRef& B) {
  ExponentialMoment moment{mean.dot(B * mean), 0};
  if (root.cols() == 0) return moment;
  const numerics::SymmetricEigenvalues eigen = numerics::symmetric_eigenvalues(root.transpose() * B * root);
  const Vector b = eigen.vectors.transpose() * (root.transpose() * (B * mean));
  moment.largest = eigen.values[eigen.values.size() - 1];
  for (Eigen::Index i = 0; i < b.size(); ++i) {
    const double rest = 1 - 2 * eigen.values[i];
    if (!(rest > 0)) return {std::numeric_limits<double>::infinity(), moment.largest};
    moment.log_value += 2 * b[i] * b[i] / rest - 0.5 * std::log(rest);
  }
  return moment;
}

}  // namespace largo::concentration
