#include "estimation/token_kurtosis.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "estimation/query_limit.hpp"
#include "largo/measures/empirical.hpp"
#include "largo/runtime/check.hpp"

namespace largo::estimation {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
// t starts at kFirst over the deviation, as a Gaussian needs it, and falls by this ratio: an atom of
// probability p has x = √(m2/p).
constexpr double kRatio = 1.4142135623730951, kFirst = 4;
constexpr int kSteps = 72;
constexpr double kPastMinimum = 3;                       // rise of the log of a bound past its minimum
constexpr double kLargest = 1e6, kCoshRounding = 1e-12;  // limits of E cosh − 1
constexpr double kLog24 = 3.1780538303479458, kLog40320 = 10.604602902745251;  // 4!, 8!

struct LogMoments {
  double fourth = kInfinity, eighth = kInfinity;
};

// E[e^{tx} − 1] for one coordinate x = <u, z − mean>.
class Coordinate {
 public:
  Coordinate(const Measure& law, const std::vector<TokenLeaf>& leaves, const Vector& u, const Vector& mean)
      : law_(law), u_(u), centre_(u.dot(mean)) {
    // The leaves of a mixture of Gaussians have a closed form: one pass over the matrices serves every t.
    for (const TokenLeaf& leaf : leaves) {
      const double offset = (leaf.offset.size() > 0 ? u.dot(leaf.offset) : 0) - centre_;
      const double deviation = leaf.scale * leaf.pull_back(u).norm();
      normals_.push_back({leaf.probability, offset, deviation * deviation});
    }
  }

  double excess(double t) const {
    double sum = 0;
    for (const Normal& normal : normals_) {
      sum += normal.probability * std::expm1(t * normal.mean + t * t * normal.variance / 2);
    }
    if (!normals_.empty()) return sum;
    try {
      return std::expm1(law_.log_partition(t * u_) - t * centre_);
    } catch (const InputError&) {
      return kInfinity;  // a law that cannot be tilted so far
    }
  }

 private:
  struct Normal {
    double probability, mean, variance;
  };
  const Measure& law_;
  Vector u_;
  double centre_;
  std::vector<Normal> normals_;  // empty: another law
};

LogMoments moments_of(const Coordinate& x, double second) {
  LogMoments least;
  double t = kFirst / std::sqrt(second);
  for (int i = 0; i < kSteps; ++i, t /= kRatio) {
    const double above = (x.excess(t) + x.excess(-t)) / 2;
    if (!(above < kLargest)) continue;
    if (above < kCoshRounding) break;
    const double fourth = kLog24 + std::log(above) - 4 * std::log(t);
    const double eighth = kLog40320 + std::log(above) - 8 * std::log(t);
    if (fourth > least.fourth + kPastMinimum && eighth > least.eighth + kPastMinimum) break;
    least = {std::min(least.fourth, fourth), std::min(least.eighth, eighth)};
  }
  return least;
}

TokenKurtosis kurtosis_of(const Measure& law, const Tilt& plain, const Matrix& W) {
  std::vector<TokenLeaf> leaves = law.token_leaves();
  if (!all_normal(leaves)) leaves.clear();
  const Vector second = (W * plain.covariance).cwiseProduct(W).rowwise().sum();
  // Sums over the coordinates of their variances, and of their squared norms in L⁴ and L⁸.
  double all = 0, fourth = 0, eighth = 0;
  for (Eigen::Index i = 0; i < W.rows(); ++i) {
    if (!(second[i] > 0)) continue;
    const LogMoments moments =
        moments_of(Coordinate(law, leaves, W.row(i).transpose(), plain.mean), second[i]);
    all += second[i];
    fourth += std::exp(moments.fourth / 2);
    eighth += std::exp(moments.eighth / 4);
  }
  if (!(all > 0)) return {};
  // Jensen's inequality holds, whatever rounding says.
  TokenKurtosis kurtosis;
  kurtosis.fourth = std::max(0.0, 2 * std::log(fourth / all));
  kurtosis.eighth = std::max(0.0, 4 * std::log(eighth) - 4 * std::log(fourth));
  return kurtosis;
}

// The moments of a prompt are sums over its tokens. The slack is that of the bounds on a rare atom, so that
// rarity has one measure for all laws.
TokenKurtosis kurtosis_of(const EmpiricalMeasure& prompt, const Vector& mean, const Matrix& W) {
  constexpr double kSlack4 = 2.5, kSlack8 = 5;
  const Vector& probabilities = prompt.probabilities();
  const double equal = 1 / static_cast<double>(prompt.length());
  std::vector<double> squares;
  double largest = 0;
  for (std::int64_t l = 0; l < prompt.length(); ++l) {
    Vector x(prompt.dimension());
    for (std::ptrdiff_t j = 0; j < x.size(); ++j) x[j] = prompt.tokens()(l, j) - mean[j];
    squares.push_back((W.rows() > 0 ? Vector(W * x) : x).squaredNorm());
    largest = std::max(largest, squares.back());
  }
  if (!(largest > 0)) return {};
  double second = 0, fourth = 0, eighth = 0;
  for (std::size_t l = 0; l < squares.size(); ++l) {
    const double p = probabilities.size() > 0 ? probabilities[static_cast<Eigen::Index>(l)] : equal;
    const double r = squares[l] / largest;
    second += p * r;
    fourth += p * r * r;
    eighth += p * r * r * r * r;
  }
  return {std::log(kSlack4 * fourth / (second * second)), std::log(kSlack8 * eighth / (fourth * fourth))};
}

TokenKurtosis worse(const TokenKurtosis& a, const TokenKurtosis& b) {
  return {std::max(a.fourth, b.fourth), std::max(a.eighth, b.eighth)};
}

}  // namespace

TokenKurtosis token_kurtosis(const Measure& law, const ConstMatrixRef& V) {
  const Matrix I = Matrix::Identity(law.dimension(), law.dimension());
  const bool plain_values = V.rows() == V.cols() && V == I;
  if (const auto* prompt = dynamic_cast<const EmpiricalMeasure*>(&law)) {
    const Vector mean = prompt->mean();
    const TokenKurtosis tokens = kurtosis_of(*prompt, mean, Matrix());
    return plain_values ? tokens : worse(tokens, kurtosis_of(*prompt, mean, V));
  }
  const Tilt plain = law.tilt(Vector::Zero(law.dimension()), TiltOrder::covariance);
  const TokenKurtosis tokens = kurtosis_of(law, plain, I);
  return plain_values ? tokens : worse(tokens, kurtosis_of(law, plain, V));
}

}  // namespace largo::estimation
