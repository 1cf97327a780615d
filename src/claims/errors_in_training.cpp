#include "claims/errors_in_training.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <utility>

#include "claims/claims.hpp"
#include "largo/attention/attention.hpp"
#include "largo/exact/query_average.hpp"
#include "largo/icl/in_context_problem.hpp"
#include "largo/icl/prompt_setting.hpp"
#include "numerics/factor.hpp"
#include "runtime/parallel.hpp"

namespace largo::claims {
namespace {

struct WeightedTask {
  Vector w;
  double weight = 0;
};

// Exact for polynomials of degree four in w ~ N(0, I) that are even in each coordinate, that is of degree two
// in the w_i², whose means are 1, with E w_i⁴ = 3 and E w_i² w_j² = 1: d + 1 tasks, for d >= 3.
std::vector<WeightedTask> even_rule(Eigen::Index d) {
  const auto n = static_cast<double>(d);
  std::vector<WeightedTask> tasks{
      {Vector::Constant(d, std::sqrt((n + 2) / (n - 2))), (n - 2) * (n - 2) / ((n + 2) * (n + 2))}};
  for (Eigen::Index i = 0; i < d; ++i) {
    tasks.push_back({std::sqrt((n + 2) / 2) * Vector::Unit(d, i), 8 / ((n + 2) * (n + 2))});
  }
  return tasks;
}

// The same for polynomials in |w|²: the Gauss rule with two nodes for the law of |w|²/2, a gamma law.
std::vector<WeightedTask> round_rule(Eigen::Index d) {
  const double k = static_cast<double>(d) / 2 + 1, root = std::sqrt(k);
  return {{std::sqrt(2 * (k + root)) * Vector::Unit(d, 0), 0.5 * (1 - 1 / root)},
          {std::sqrt(2 * (k - root)) * Vector::Unit(d, 0), 0.5 * (1 + 1 / root)}};
}

// The Gauss rule with nodes 0 and ±√3 in each coordinate, for even polynomials of degree four in each.
std::vector<WeightedTask> product_rule(Eigen::Index d) {
  std::vector<WeightedTask> tasks;
  for (unsigned nodes = 0; nodes < 1U << d; ++nodes) {
    WeightedTask task{Vector::Zero(d), 1};
    for (Eigen::Index i = 0; i < d; ++i) {
      const bool outer = (nodes >> i & 1U) != 0;
      if (outer) task.w[i] = std::sqrt(3.0);
      task.weight *= outer ? 1.0 / 3 : 2.0 / 3;
    }
    tasks.push_back(std::move(task));
  }
  return tasks;
}

bool is_round(const Matrix& matrix) {
  return matrix.isApprox(matrix(0, 0) * Matrix::Identity(matrix.rows(), matrix.cols()), 1e-12);
}

QueryAverage average_given_task(const RegressionProblem& problem, const InvariantPoint& head,
                                const Vector& w) {
  const Eigen::Index d = problem.dimension();
  const Vector cross = problem.covariance * w;
  Matrix tokens(d + 1, d + 1), queries = Matrix::Zero(d + 1, d + 1);
  tokens << problem.covariance, cross, cross.transpose(), w.dot(cross) + problem.noise_variance;
  queries.topLeftCorner(d, d) = problem.query_covariance;
  const MergedWeights weights = weights_of(head);
  return QueryAverage::over_gaussian(tokens, weights.U, weights.V, Vector::Zero(d + 1), queries);
}

}  // namespace

MergedWeights weights_of(const InvariantPoint& head) {
  const Eigen::Index d = head.A.rows();
  MergedWeights weights{Matrix::Zero(d + 1, d + 1), Matrix::Zero(1, d + 1)};
  weights.U.topLeftCorner(d, d) = head.A;
  weights.V(0, d) = head.b;
  return weights;
}

double score_spread(const RegressionProblem& problem, const InvariantPoint& head) {
  const auto root = [](const Matrix& S) { return Matrix(S.diagonal().cwiseSqrt().asDiagonal()); };
  return numerics::operator_norm(root(problem.covariance) * head.A * root(problem.query_covariance));
}

std::vector<PointOnPath> points_along(const Trajectory& path,
                                      const std::function<InvariantPoint(const Vector&)>& head,
                                      const std::function<double(const InvariantPoint&)>& spread, int count) {
  const std::vector<TrajectoryPoint>& steps = path.points();
  std::vector<double> lengths{0};
  for (std::size_t i = 1; i < steps.size(); ++i) {
    lengths.push_back(lengths.back() + (steps[i].parameters - steps[i - 1].parameters).norm());
  }
  const auto point_at = [&](double time, double length) {
    return PointOnPath{head(path.at(time)), time, length / lengths.back()};
  };
  std::vector<PointOnPath> points;
  PointOnPath widest;
  double most = -1;
  double next = 0;  // the next point is due after this share of the path
  for (std::size_t i = 0; i < steps.size(); ++i) {
    PointOnPath point = point_at(steps[i].time, lengths[i]);
    if (const double here = spread(point.head); here > most) {
      most = here;
      widest = point;
    }
    if (i + 1 < steps.size() && (point.share < next || next > 1 - 0.5 / count)) continue;
    next = (std::floor(point.share * (count - 1)) + 1) / (count - 1);
    points.push_back(std::move(point));
  }
  const auto place =
      std::lower_bound(points.begin(), points.end(), widest.time,
                       [](const PointOnPath& point, double time) { return point.time < time; });
  if (place == points.end() || place->time != widest.time) points.insert(place, std::move(widest));
  return points;
}

std::vector<PointOnPath> points_along(const RegressionProblem& problem, const RegressionFlow& flow,
                                      int count) {
  const Eigen::Index d = problem.dimension();
  const auto head = [&](const Vector& parameters) {
    const Vector at = flow.map->map(parameters);
    return InvariantPoint{at.head(d * d).reshaped(d, d), at[d * d]};
  };
  return points_along(
      flow.flow.trajectory, head, [&](const InvariantPoint& at) { return score_spread(problem, at); }, count);
}

std::vector<std::vector<ErrorsAt>> errors_along(const RegressionProblem& problem,
                                                const std::vector<PointOnPath>& path,
                                                const std::vector<double>& lengths, TaskRule rule,
                                                const Execution& execution) {
  bool round = is_round(problem.covariance);
  for (const PointOnPath& point : path) round = round && is_round(point.head.A);
  const Eigen::Index d = problem.dimension();
  const std::vector<WeightedTask> tasks = rule == TaskRule::smallest
                                              ? (round ? round_rule(d) : even_rule(d))
                                              : (round ? even_rule(d) : product_rule(d));
  std::vector<std::vector<ErrorsAt>> of_task(path.size() * tasks.size(),
                                             std::vector<ErrorsAt>(lengths.size()));
  runtime::parallel_for(static_cast<std::ptrdiff_t>(of_task.size()), execution, [&](std::ptrdiff_t job) {
    const auto i = static_cast<std::size_t>(job);
    const QueryAverage average =
        average_given_task(problem, path[i / tasks.size()].head, tasks[i % tasks.size()].w);
    for (std::size_t l = 0; l < lengths.size(); ++l) {
      const AveragedAttentionError error = average(lengths[l], 1, execution);
      of_task[i][l] = {error.output.value, error.gradient_V.value, error.gradient_U.value};
    }
  });
  std::vector<std::vector<ErrorsAt>> errors(path.size(), std::vector<ErrorsAt>(lengths.size(), ErrorsAt{}));
  for (std::size_t i = 0; i < of_task.size(); ++i) {
    for (std::size_t l = 0; l < lengths.size(); ++l) {
      for (const TrainingError e : kTrainingErrors) {
        errors[i / tasks.size()][l][e] += tasks[i % tasks.size()].weight * of_task[i][l][e];
      }
    }
  }
  return errors;
}

ErrorsOnPath::ErrorsOnPath(const RegressionProblem& problem, std::vector<PointOnPath> path,
                           std::vector<double> lengths, const Execution& execution)
    : path_(std::move(path)),
      lengths_(std::move(lengths)),
      errors_(errors_along(problem, path_, lengths_, TaskRule::smallest, execution)) {
  for (const PointOnPath& point : path_) spread_ = larger(spread_, score_spread(problem, point.head));
}

double ErrorsOnPath::largest(std::size_t length, TrainingError error) const {
  double most = 0;
  for (const auto& of_point : errors_) most = larger(most, of_point[length][error]);
  return most;
}

const PointOnPath& ErrorsOnPath::farthest(std::size_t length) const {
  std::size_t found = 0;
  for (std::size_t i = 0; i < path_.size(); ++i) {
    if (at(i, length)[kOutputError] > at(found, length)[kOutputError]) found = i;
  }
  return path_[found];
}

SampledErrors sampled_errors(const PromptSetting& finite, const InvariantPoint& head, std::int64_t prompts,
                             const Execution& execution) {
  PromptSetting infinite = finite;
  infinite.length = std::numeric_limits<double>::infinity();
  const MergedWeights weights = weights_of(head);
  std::vector<ErrorsAt> of_prompt(static_cast<std::size_t>(prompts));
  runtime::parallel_for(prompts, execution, [&](std::ptrdiff_t i) {
    const auto at = [&](const PromptSetting& setting) {
      const PromptDraw draw = draw_prompt(setting, i);
      const RowMatrix query = draw.query.transpose();
      return std::pair{
          attend(AttentionKind::softmax, *draw.tokens, weights, query, {.threads = 1}),
          attention_jacobian(AttentionKind::softmax, *draw.tokens, weights, query, {.threads = 1})};
    };
    const auto prompt = at(finite), limit = at(infinite);
    of_prompt[static_cast<std::size_t>(i)] = {(prompt.first - limit.first).squaredNorm(),
                                              (prompt.second[0].V - limit.second[0].V).squaredNorm(),
                                              (prompt.second[0].U - limit.second[0].U).squaredNorm()};
  });
  SampledErrors sampled;
  const auto n = static_cast<double>(prompts);
  for (const TrainingError e : kTrainingErrors) {
    for (const ErrorsAt& errors : of_prompt) sampled.mean[e] += errors[e] / n;
    double squares = 0;
    for (const ErrorsAt& errors : of_prompt) {
      squares += (errors[e] - sampled.mean[e]) * (errors[e] - sampled.mean[e]);
    }
    sampled.standard_error[e] = std::sqrt(squares / (n - 1) / n);
  }
  return sampled;
}

}  // namespace largo::claims
