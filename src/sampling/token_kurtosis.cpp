#include "sampling/token_kurtosis.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "largo/numerics/check.hpp"

namespace largo {
namespace {

constexpr std::size_t kMostCoordinates = 4;
constexpr double kInfinity = std::numeric_limits<double>::infinity();
// t falls by this ratio from where the x of a Gaussian ends; x is √(m2/p) for an atom of probability p.
constexpr double kRatio = 1.4142135623730951, kFirst = 4;
constexpr int kSteps = 72;
constexpr double kPastMinimum = 3;                                             // of the logarithm of a bound
constexpr double kLargest = 1e6, kRounding = 1e-12;                            // of E cosh − 1
constexpr double kLog24 = 3.1780538303479458, kLog40320 = 10.604602902745251;  // 4!, 8!

struct LogMoments {
  double fourth = kInfinity, eighth = kInfinity;
};

LogMoments along(const Measure& law, const Vector& u, const Vector& mean, double second) {
  LogMoments least;
  const auto excess = [&](double t) {
    try {
      return std::expm1(law.log_partition(t * u) - t * u.dot(mean));
    } catch (const InputError&) {
      return kInfinity;  // a law that cannot be tilted so far
    }
  };
  double t = kFirst / std::sqrt(second);
  for (int i = 0; i < kSteps; ++i, t /= kRatio) {
    const double above = (excess(t) + excess(-t)) / 2;
    if (!(above < kLargest)) continue;
    if (above < kRounding) break;
    const double fourth = kLog24 + std::log(above) - 4 * std::log(t);
    const double eighth = kLog40320 + std::log(above) - 8 * std::log(t);
    if (fourth > least.fourth + kPastMinimum && eighth > least.eighth + kPastMinimum) break;
    least = {std::min(least.fourth, fourth), std::min(least.eighth, eighth)};
  }
  return least;
}

TokenKurtosis kurtosis_of(const Measure& law, const Tilt& plain, const Matrix& W) {
  const Vector second = (W * plain.covariance).cwiseProduct(W).rowwise().sum();
  std::vector<Eigen::Index> rows(static_cast<std::size_t>(second.size()));
  std::iota(rows.begin(), rows.end(), Eigen::Index{0});
  std::stable_sort(rows.begin(), rows.end(), [&](auto i, auto j) { return second[i] > second[j]; });
  rows.resize(std::min(rows.size(), kMostCoordinates));
  // Σ of the coordinates' ‖·‖ in L⁴ and L⁸, squared, in units of their variance.
  double all = 0, fourth = 0, eighth = 0;
  for (const Eigen::Index i : rows) {
    if (!(second[i] > 0)) continue;
    const LogMoments moments = along(law, W.row(i).transpose(), plain.mean, second[i]);
    all += second[i];
    fourth += std::exp(moments.fourth / 2);
    eighth += std::exp(moments.eighth / 4);
  }
  if (!(all > 0)) return {};
  // Jensen's inequality, whatever rounding says.
  TokenKurtosis kurtosis;
  kurtosis.fourth = std::max(0.0, 2 * std::log(fourth / all));
  kurtosis.eighth = std::max(0.0, 4 * std::log(eighth) - 4 * std::log(fourth));
  return kurtosis;
}

}  // namespace

TokenKurtosis token_kurtosis(const Measure& law, const ConstMatrixRef& V) {
  const Tilt plain = law.tilt(Vector::Zero(law.dimension()), TiltOrder::covariance);
  const Matrix I = Matrix::Identity(law.dimension(), law.dimension());
  const TokenKurtosis tokens = kurtosis_of(law, plain, I);
  if (V.rows() == V.cols() && V == I) return tokens;
  const TokenKurtosis values = kurtosis_of(law, plain, V);
  return {std::max(values.fourth, tokens.fourth), std::max(values.eighth, tokens.eighth)};
}

}  // namespace largo
