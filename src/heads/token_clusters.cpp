#include "heads/token_clusters.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <optional>

#include "heads/evenly_spaced.hpp"
#include "heads/stored_rows.hpp"
#include "largo/random/streams.hpp"
#include "largo/runtime/matrix.hpp"

namespace largo::heads {
namespace {

constexpr std::int64_t kFittedTokens = 2048;
constexpr std::ptrdiff_t kCoordinates = 6;
constexpr std::ptrdiff_t kTokensPerComponent = 16;  // at least, of those it is fitted to
constexpr int kSteps = 40;
constexpr double kSettled = 1e-4;  // change of the mean log-likelihood
constexpr double kRidge = 1e-3;    // of the total variance, on every covariance
constexpr std::uint64_t kSeed = 1;

// Rows of (k, v) side by side.
RowMatrix joint_rows(const CapturedHead& head, std::int64_t first, std::int64_t count) {
  RowMatrix rows(count, head.keys.columns + head.values.columns);
  widen_rows(head.keys, first, count, rows.data(), rows.cols());
  widen_rows(head.values, first, count, rows.data() + head.keys.columns, rows.cols());
  return rows;
}

// The map to principal coordinates: x -> axes (x - mean), one coordinate a row.
struct Projection {
  Eigen::RowVectorXd mean;
  Matrix axes;
};

std::optional<Projection> principal_coordinates(const RowMatrix& sample, std::int64_t key_columns) {
  Projection result;
  result.mean = sample.colwise().mean();
  RowMatrix centred = sample.rowwise() - result.mean;
  Vector factor(sample.cols());
  const auto balance = [&](std::ptrdiff_t first, std::ptrdiff_t count) {
    const double total = centred.middleCols(first, count).squaredNorm() / static_cast<double>(sample.rows());
    factor.segment(first, count).setConstant(total > 0 ? 1 / std::sqrt(total) : 0);
  };
  balance(0, key_columns);
  balance(key_columns, sample.cols() - key_columns);
  centred *= factor.asDiagonal();
  const Matrix covariance = centred.transpose() * centred / static_cast<double>(sample.rows());
  const Eigen::SelfAdjointEigenSolver<Matrix> solver(covariance);
  constexpr double kFlat = 1e-9;
  const std::ptrdiff_t count = std::min(kCoordinates, sample.cols());
  if (!(solver.eigenvalues().tail<1>()[0] > kFlat)) return std::nullopt;  // all tokens agree
  result.axes = solver.eigenvectors().rightCols(count).rowwise().reverse().transpose() * factor.asDiagonal();
  return result;
}

struct Mixture {
  std::vector<double> log_weight;
  std::vector<Vector> mean;
  std::vector<Matrix> root;  ///< lower, of the covariance
  std::vector<double> log_determinant;
};

// log(weight × density) of every component (row) at every point (column).
Matrix log_joint(const Mixture& mixture, const Matrix& points) {
  Matrix result(std::ssize(mixture.mean), points.cols());
  const double constant = static_cast<double>(points.rows()) * std::log(2 * std::numbers::pi) / 2;
  for (std::size_t c = 0; c < mixture.mean.size(); ++c) {
    Matrix from_mean = points.colwise() - mixture.mean[c];
    mixture.root[c].triangularView<Eigen::Lower>().solveInPlace(from_mean);
    result.row(static_cast<std::ptrdiff_t>(c)) =
        (-from_mean.colwise().squaredNorm().array() / 2 + mixture.log_weight[c] - constant -
         mixture.log_determinant[c] / 2)
            .matrix();
  }
  return result;
}

// Turns each column into its softmax; returns the mean of the log-sums.
double normalise(Matrix& joint) {
  double sum = 0;
  for (std::ptrdiff_t j = 0; j < joint.cols(); ++j) {
    const double largest = joint.col(j).maxCoeff();
    joint.col(j) = (joint.col(j).array() - largest).exp().matrix();
    const double total = joint.col(j).sum();
    joint.col(j) /= total;
    sum += largest + std::log(total);
  }
  return sum / static_cast<double>(joint.cols());
}

// The components of these shares of the points.
Mixture fitted(const Matrix& points, const Matrix& shares, double ridge) {
  Mixture mixture;
  for (std::ptrdiff_t c = 0; c < shares.rows(); ++c) {
    const double count = std::max(shares.row(c).sum(), 1e-6);
    const Vector mean = points * shares.row(c).transpose() / count;
    const Matrix centred = points.colwise() - mean;
    Matrix covariance = centred * shares.row(c).asDiagonal() * centred.transpose() / count;
    covariance.diagonal().array() += ridge;
    const Eigen::LLT<Matrix> root(covariance);
    mixture.log_weight.push_back(std::log(count / static_cast<double>(points.cols())));
    mixture.mean.push_back(mean);
    mixture.root.push_back(root.matrixL());
    mixture.log_determinant.push_back(2 * mixture.root.back().diagonal().array().log().sum());
  }
  return mixture;
}

// k-means++: each next centre is drawn with probability ∝ squared distance from those before it.
Matrix first_shares(const Matrix& points, int count) {
  std::vector<double> draws(static_cast<std::size_t>(count));
  Stream(kSeed, 0).uniforms(0, draws);
  Vector distance = Vector::Constant(points.cols(), std::numeric_limits<double>::infinity());
  Matrix shares = Matrix::Zero(count, points.cols());
  std::vector<int> nearest(static_cast<std::size_t>(points.cols()), 0);
  for (int c = 0; c < count; ++c) {
    std::ptrdiff_t at = 0;
    if (c > 0) {
      double left = draws[static_cast<std::size_t>(c)] * distance.sum();
      while (at + 1 < points.cols() && (left -= distance[at]) > 0) ++at;
    }
    const Vector from = (points.colwise() - points.col(at)).colwise().squaredNorm().transpose();
    for (std::ptrdiff_t j = 0; j < points.cols(); ++j) {
      if (!(from[j] < distance[j])) continue;
      distance[j] = from[j];
      nearest[static_cast<std::size_t>(j)] = c;
    }
  }
  for (std::ptrdiff_t j = 0; j < points.cols(); ++j) shares(nearest[static_cast<std::size_t>(j)], j) = 1;
  return shares;
}

Mixture fit(const Matrix& points, int count, double ridge) {
  Mixture mixture = fitted(points, first_shares(points, count), ridge);
  double before = -std::numeric_limits<double>::infinity();
  for (int step = 0; step < kSteps; ++step) {
    Matrix shares = log_joint(mixture, points);
    const double likelihood = normalise(shares);
    if (likelihood - before < kSettled) break;
    before = likelihood;
    mixture = fitted(points, shares, ridge);
  }
  return mixture;
}

// The points of even, or of odd, number.
Matrix every_second(const Matrix& points, std::ptrdiff_t first) {
  return points(Eigen::all, Eigen::seq(first, points.cols() - 1, 2));
}

std::vector<std::uint8_t> assigned(const CapturedHead& head, const Projection& to, const Mixture& mixture) {
  std::vector<std::uint8_t> result;
  constexpr std::int64_t kBlock = 1024;
  for (std::int64_t first = 0; first < head.keys.rows; first += kBlock) {
    const RowMatrix rows = joint_rows(head, first, std::min(kBlock, head.keys.rows - first));
    const Matrix points = to.axes * (rows.rowwise() - to.mean).transpose();
    const Matrix joint = log_joint(mixture, points);
    for (std::ptrdiff_t j = 0; j < joint.cols(); ++j) {
      std::ptrdiff_t best = 0;
      joint.col(j).maxCoeff(&best);
      result.push_back(static_cast<std::uint8_t>(best));
    }
  }
  return result;
}

}  // namespace

TokenClusters token_clusters(const CapturedHead& head, std::span<const std::int64_t> sinks) {
  std::vector<std::int64_t> taken;
  for (const std::int64_t j : evenly_spaced(head.keys.rows, kFittedTokens)) {
    if (!std::binary_search(sinks.begin(), sinks.end(), j)) taken.push_back(j);
  }
  if (std::ssize(taken) < 4 * kTokensPerComponent) return {};
  RowMatrix sample(std::ssize(taken), head.keys.columns + head.values.columns);
  for (std::ptrdiff_t i = 0; i < sample.rows(); ++i)
    sample.row(i) = joint_rows(head, taken[static_cast<std::size_t>(i)], 1);
  const std::optional<Projection> projection = principal_coordinates(sample, head.keys.columns);
  if (!projection) return {};
  const Matrix points = projection->axes * (sample.rowwise() - projection->mean).transpose();
  const Matrix training = every_second(points, 0), testing = every_second(points, 1);
  const double ridge = kRidge * points.squaredNorm() / static_cast<double>(points.cols());
  Mixture best;
  double most = -std::numeric_limits<double>::infinity();
  for (int count = 1; count <= kMostComponents && count * kTokensPerComponent <= training.cols();
       count *= 2) {
    Mixture mixture = fit(training, count, ridge);
    Matrix joint = log_joint(mixture, testing);
    const double likelihood = normalise(joint);
    if (!(likelihood > most)) continue;
    most = likelihood;
    best = std::move(mixture);
  }
  const auto count = static_cast<int>(best.mean.size());
  if (count == 1) return {};
  return {count, assigned(head, *projection, best)};
}

}  // namespace largo::heads
