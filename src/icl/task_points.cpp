#include "icl/task_points.hpp"

#include <algorithm>
#include <bit>
#include <boost/random/sobol.hpp>
#include <cmath>
#include <deque>
#include <mutex>
#include <tuple>
#include <utility>
#include <vector>

#include "largo/random/streams.hpp"
#include "largo/runtime/check.hpp"
#include "numerics/factor.hpp"
#include "numerics/simd_math.hpp"
#include "runtime/distribute.hpp"

namespace largo::icl {

constexpr double kStretch = 0.1;  // cuts the error of 4096 points to a tenth for d = 1, keeps it for d = 5

Matrix normal_points(Eigen::Index dimension, std::int64_t count, std::uint64_t seed,
                     const Execution& execution) {
  constexpr std::int64_t kMost = std::int64_t{1} << 24;
  constexpr Eigen::Index kMostDimensions = 3600;  // limit of Boost's table
  if (count < 1 || count > kMost) fail("general_risk", "nodes", static_cast<double>(count), "1 to 2^24");
  if (dimension > kMostDimensions) {
    fail("general_risk", "dimension", static_cast<double>(dimension), "at most 3600");
  }
  const auto size =
      static_cast<Eigen::Index>(std::bit_ceil(static_cast<std::uint64_t>(std::max(count, kFewestPoints))));
  const auto width = static_cast<std::size_t>(dimension);
  Matrix points(size, dimension);
  if (dimension == 0) return points;  // both covariances are zero
  std::vector<std::uint64_t> shift(width);
  std::vector<double> uniforms(width);
  Stream(seed, 0).bits(0, shift);
  boost::random::sobol sequence(width);
  for (Eigen::Index i = 0; i < size; ++i) {
    runtime::check_stop(execution);
    for (std::size_t j = 0; j < width; ++j) {
      // Boost leaves out the first point, the origin, without which the others are not a net.
      const std::uint64_t bits = (i == 0 ? 0 : sequence()) ^ shift[j];
      uniforms[j] = (static_cast<double>(bits >> 12) + 0.5) * 0x1p-52;
    }
    numerics::normal_inverse(uniforms, uniforms);
    points.row(i) = Eigen::Map<const Vector>(uniforms.data(), dimension).transpose();
  }
  return points;
}

Vector stretch(Matrix& points, Eigen::Index task_dimension) {
  Vector logarithms = Vector::Zero(points.rows());
  const auto block = [&](auto columns) {
    const auto size = static_cast<double>(columns.cols());
    const double from = std::sqrt(std::max(size - 0.75, 0.0));  // about the mean of the norm; 1/2 for one
    for (Eigen::Index i = 0; i < points.rows(); ++i) {
      const double norm = columns.row(i).norm(), beyond = norm - from;
      if (!(beyond > 0)) continue;
      const double factor = 1 + kStretch * beyond * beyond * beyond / norm;
      columns.row(i) *= factor;
      // the ratio of the densities of the norms, times the slope of the map
      logarithms[i] += (size - 1) * std::log(factor) - 0.5 * norm * norm * (factor * factor - 1) +
                       std::log1p(3 * kStretch * beyond * beyond);
    }
  };
  block(points.leftCols(task_dimension));
  block(points.rightCols(points.cols() - task_dimension));
  const Vector weights = logarithms.array().exp();
  return weights / weights.sum();
}

Vector calibrated_weights(const Matrix& points, const Vector& given, Eigen::Index task_dimension,
                          const Execution& execution) {
  constexpr Eigen::Index kPointsPerCondition = 6;
  constexpr int kMostIterations = 60;
  constexpr double kCalibrated = 1e-11;
  constexpr double kGoesWell = 0.04;  // largest share of the squared distance after a good step
  const Eigen::Index n = points.rows(), k = task_dimension, d = points.cols() - k;
  const Eigen::Index pairs_x = d * (d + 1) / 2, pairs_w = k * (k + 1) / 2;
  const Eigen::Index conditions = 1 + 2 * pairs_x + pairs_w + pairs_x * pairs_w;
  if (kPointsPerCondition * conditions > n) return given;
  Matrix A(conditions, n);
  Vector target(conditions);
  Eigen::Index row = 0;
  const auto demand = [&](const Vector& values, double average) {
    A.row(row) = values.transpose();
    target[row++] = average;
  };
  const auto product = [&](Eigen::Index i, Eigen::Index j) {
    return Vector(points.col(i).cwiseProduct(points.col(j)));
  };
  const Vector norm = points.rightCols(d).rowwise().squaredNorm();
  demand(Vector::Ones(n), 1);
  for (Eigen::Index k1 = 0; k1 < k; ++k1) {
    for (Eigen::Index k2 = 0; k2 <= k1; ++k2) demand(product(k1, k2), k1 == k2 ? 1 : 0);
  }
  for (Eigen::Index i = 0; i < d; ++i) {
    for (Eigen::Index j = 0; j <= i; ++j) {
      const double same = i == j ? 1 : 0;
      const Vector xx = product(k + i, k + j);
      demand(xx, same);
      demand(xx.cwiseProduct(norm), same * static_cast<double>(d + 2));
      for (Eigen::Index k1 = 0; k1 < k; ++k1) {
        for (Eigen::Index k2 = 0; k2 <= k1; ++k2)
          demand(xx.cwiseProduct(product(k1, k2)), k1 == k2 ? same : 0);
      }
    }
  }
  // Exponential tilts keep weights positive: log Σ e^{<λ, a_i - target>} is convex in λ, and stationary where
  // the averages are the target. Newton's method finds this point; a curvature is used again as long as its
  // steps are good.
  A.colwise() -= target;
  struct Tilt {
    Vector lambda, weights, miss;
    double height = 0;
  };
  const auto tilt = [&](Vector lambda) {
    const Vector scores = A.transpose() * lambda;
    const double top = scores.maxCoeff();
    Vector weights = given.array() * (scores.array() - top).exp();
    const double sum = weights.sum();
    weights /= sum;
    Vector miss = A * weights;
    return Tilt{std::move(lambda), std::move(weights), std::move(miss), std::log(sum) + top};
  };
  const auto inverse_curvature = [&](const Tilt& at) {
    const Matrix rooted = A * at.weights.cwiseSqrt().asDiagonal();
    Matrix curvature = Matrix::Zero(conditions, conditions);
    curvature.selfadjointView<Eigen::Lower>().rankUpdate(rooted);
    curvature.selfadjointView<Eigen::Lower>().rankUpdate(at.miss, -1);
    runtime::check_stop(execution);
    return numerics::least_squares(Matrix(curvature.selfadjointView<Eigen::Lower>()),
                                   Matrix::Identity(conditions, conditions));
  };
  Tilt now = tilt(Vector::Zero(conditions));
  Matrix inverse = inverse_curvature(now);
  bool fresh = true;
  for (int iteration = 0; iteration < kMostIterations; ++iteration) {
    runtime::check_stop(execution);
    if (now.miss.cwiseAbs().maxCoeff() < kCalibrated) return now.weights;
    const Vector step = inverse * now.miss;
    Tilt next = tilt(now.lambda - step);
    if (next.miss.dot(inverse * next.miss) > kGoesWell * now.miss.dot(step)) {
      if (!fresh) {
        inverse = inverse_curvature(now);
        fresh = true;
        continue;
      }
      for (double share = 0.5; share > 1e-3 && !(next.height < now.height); share /= 2) {
        next = tilt(now.lambda - share * step);
      }
      if (!(next.height < now.height)) return given;
    }
    now = std::move(next);
    fresh = false;
  }
  return given;
}

std::shared_ptr<const TaskPoints> task_points(Eigen::Index task_dimension, Eigen::Index query_dimension,
                                              std::int64_t count, std::uint64_t seed,
                                              const Execution& execution) {
  // Flows have up to three sets of their own, and six that estimate their error.
  constexpr std::size_t kKept = 4;
  constexpr Eigen::Index kKeptValues = Eigen::Index{1} << 21;  // more sets are kept if they are small
  using Key = std::tuple<Eigen::Index, Eigen::Index, std::int64_t, std::uint64_t>;
  static std::mutex mutex;
  static std::deque<std::pair<Key, std::shared_ptr<const TaskPoints>>> kept;
  const Key key{task_dimension, query_dimension, count, seed};
  const std::lock_guard lock(mutex);
  for (const auto& [known, points] : kept) {
    if (known == key) return points;
  }
  TaskPoints made;
  made.points = normal_points(task_dimension + query_dimension, count, seed, execution);
  made.weights = stretch(made.points, task_dimension);
  if (count <= kMostCalibrated) {
    made.weights = calibrated_weights(made.points, made.weights, task_dimension, execution);
  }
  Eigen::Index values = made.points.size();
  for (const auto& [known, points] : kept) values += points->points.size();
  while (kept.size() >= kKept && values > kKeptValues) {
    values -= kept.front().second->points.size();
    kept.pop_front();
  }
  kept.emplace_back(key, std::make_shared<const TaskPoints>(std::move(made)));
  return kept.back().second;
}

}  // namespace largo::icl
