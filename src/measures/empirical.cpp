#include "largo/measures/empirical.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "largo/runtime/check.hpp"
#include "measures/centred_tilt.hpp"
#include "measures/sampling.hpp"
#include "measures/tilt_kernel.hpp"
#include "numerics/log_sum_exp.hpp"
#include "runtime/parallel.hpp"

namespace largo {
namespace {

// Number of tokens averaged for the centre of second moments; any point among the tokens serves.
constexpr std::int64_t kCentreTokens = 64;

std::ptrdiff_t checked_dimension(const ArrayView& tokens) {
  if (tokens.rows < 1) fail("EmpiricalMeasure", "number of tokens", "0", "at least 1");
  return tokens.columns;
}

template <typename T>
runtime::AlignedVector<T> interleave(const ConstMatrixRef& columns, std::int64_t groups, std::int64_t width) {
  const std::int64_t d = columns.rows();
  // Lanes beyond the last direction repeat it: they cost nothing and produce no surprises.
  runtime::AlignedVector<T> interleaved(static_cast<std::size_t>(groups * d * width));
  for (std::int64_t q = 0; q < groups * width; ++q) {
    const std::int64_t from = std::min<std::int64_t>(q, columns.cols() - 1);
    for (std::int64_t j = 0; j < d; ++j) {
      interleaved[static_cast<std::size_t>(((q / width) * d + j) * width + q % width)] =
          static_cast<T>(columns(j, from));
    }
  }
  return interleaved;
}

template <typename T>
measures::TiltProblem<T> make_problem(const ArrayView& tokens, const Vector& log_weights,
                                      measures::TiltTask task, const ConstMatrixRef& directions) {
  measures::TiltProblem<T> problem;
  problem.tokens = tokens;
  problem.log_weights = log_weights.size() > 0 ? log_weights.data() : nullptr;
  problem.task = task;
  problem.width = measures::group_width<T>(directions.cols());
  problem.groups = (directions.cols() + problem.width - 1) / problem.width;
  problem.directions = interleave<T>(directions / measures::kScoreUnit<T>, problem.groups, problem.width);
  return problem;
}

template <typename T>
std::vector<T> convert(const Vector& values) {
  std::vector<T> converted(static_cast<std::size_t>(values.size()));
  std::transform(values.begin(), values.end(), converted.begin(), [](double x) { return static_cast<T>(x); });
  return converted;
}

template <typename T>
Vector widen(const std::vector<T>& values) {
  return Eigen::Map<const Eigen::Matrix<T, Eigen::Dynamic, 1>>(values.data(), std::ssize(values))
      .template cast<double>();
}

// Calls pass(first, count, execution) over batches of directions. If the prompt is too short to occupy the
// threads, the batches share them instead.
template <typename Pass>
void for_each_pass(std::ptrdiff_t directions, std::int64_t rows, std::int64_t length,
                   const Execution& execution, const Pass& pass) {
  // The sums of a batch, a few times per thread, are the only memory used besides the prompt.
  constexpr std::int64_t kMostSums = 1 << 20;
  std::ptrdiff_t per_pass = measures::kDirectionsPerPass;
  while (per_pass > 8 && rows * per_pass > kMostSums) per_pass /= 2;
  const std::ptrdiff_t passes = (directions + per_pass - 1) / per_pass;
  const auto run = [&](std::ptrdiff_t k, const Execution& how) {
    pass(k * per_pass, std::min(per_pass, directions - k * per_pass), how);
  };
  if (length / measures::kSegment < runtime::thread_count(execution)) {
    Execution alone = execution;
    alone.threads = 1;
    runtime::parallel_for(passes, execution, [&](std::ptrdiff_t k) { run(k, alone); });
  } else {
    for (std::ptrdiff_t k = 0; k < passes; ++k) run(k, execution);
  }
}

Vector rows_over_partition(const measures::WeightedSums& sums, std::int64_t first, std::int64_t count,
                           std::int64_t q) {
  const double partition = sums.value(0, q);
  Vector values(count);
  for (std::int64_t i = 0; i < count; ++i) values[i] = sums.value(first + i, q) / partition;
  return values;
}

// log of the mean of e^{score - maximum}. Near 0, its largest value, it is computed from the difference to
// equal scores, so that equal scores give exactly 0 and Λ is their common value.
double log_mean_weight(const measures::WeightedSums& sums, std::int64_t row, std::int64_t length,
                       std::int64_t q) {
  const auto count = static_cast<double>(length);
  const double largest = measures::weight_of(sums.unit() * sums.maximum(q), sums.unit() * sums.reference(q));
  const double ratio = sums.value(row, q) / largest / count;
  if (ratio < 0.5) return std::log(ratio);
  return std::log1p(sums.excess(row, q, count, largest) / (count * largest));
}

measures::CentredTilt tilt_from_sums(const measures::WeightedSums& sums, const measures::SumLayout& layout,
                                     TiltOrder order, std::int64_t length, const Vector& centre,
                                     std::int64_t q) {
  const std::int64_t d = centre.size();
  measures::CentredTilt result;
  Tilt& tilt = result.tilt;
  tilt.log_partition = sums.unit() * sums.maximum(q) + log_mean_weight(sums, layout.partition, length, q);
  if (order >= TiltOrder::mean) tilt.mean = rows_over_partition(sums, layout.tokens, d, q);
  if (order < TiltOrder::covariance) return result;
  const Vector moments = rows_over_partition(sums, layout.pairs, d * (d + 1) / 2, q);
  tilt.covariance.resize(d, d);
  std::int64_t row = 0;
  for (std::int64_t i = 0; i < d; ++i) {
    for (std::int64_t j = i; j < d; ++j) tilt.covariance(i, j) = tilt.covariance(j, i) = moments[row++];
  }
  result.take_off(tilt.mean - centre);
  return result;
}

}  // namespace

EmpiricalMeasure::EmpiricalMeasure(ArrayView tokens, std::shared_ptr<const void> owner,
                                   const std::optional<Vector>& weights, Arithmetic arithmetic)
    : Measure(checked_dimension(tokens)), tokens_(tokens), owner_(std::move(owner)), arithmetic_(arithmetic) {
  if (arithmetic_ == Arithmetic::of_tokens) {
    arithmetic_ = tokens_.scalar == Scalar::float32 ? Arithmetic::float32 : Arithmetic::float64;
  }
  if (!weights) return;
  check_size("EmpiricalMeasure", "weights", weights->size(), length());
  check_weights("EmpiricalMeasure", "weights", *weights);
  probabilities_ = *weights / weights->sum();
  cumulative_ = measures::cumulative_sum(probabilities_);
  log_weights_ = (probabilities_ * static_cast<double>(length())).array().log();
}

EmpiricalMeasure::EmpiricalMeasure(RowMatrix tokens, const std::optional<Vector>& weights,
                                   Arithmetic arithmetic)
    : EmpiricalMeasure(
          [&] {
            auto held = std::make_shared<const RowMatrix>(std::move(tokens));
            return std::pair(view_of(*held), std::shared_ptr<const void>(held));
          }(),
          weights, arithmetic) {}

EmpiricalMeasure::EmpiricalMeasure(std::pair<ArrayView, std::shared_ptr<const void>> held,
                                   const std::optional<Vector>& weights, Arithmetic arithmetic)
    : EmpiricalMeasure(held.first, std::move(held.second), weights, arithmetic) {}

double EmpiricalMeasure::log_partition(const ConstVectorRef& direction) const {
  return tilt(direction, TiltOrder::log_partition).log_partition;
}

Tilt EmpiricalMeasure::tilt(const ConstVectorRef& direction, TiltOrder order) const {
  return tilts(direction, order).front();
}

std::vector<Tilt> EmpiricalMeasure::tilts(const ConstMatrixRef& directions, TiltOrder order,
                                          const Execution& execution) const {
  check_size("tilts", "each direction", directions.rows(), dimension());
  check_finite("tilts", "directions", directions);
  if (execution.device != nullptr) return tilts_on_device(directions, order, execution);
  return arithmetic_ == Arithmetic::float32 ? tilts_in<float>(directions, order, execution)
                                            : tilts_in<double>(directions, order, execution);
}

template <typename T>
std::vector<Tilt> EmpiricalMeasure::tilts_in(const ConstMatrixRef& directions, TiltOrder order,
                                             const Execution& execution) const {
  constexpr measures::TiltTask kTasks[] = {measures::TiltTask::partition, measures::TiltTask::mean,
                                           measures::TiltTask::covariance};
  const measures::TiltTask task = kTasks[static_cast<int>(order)];
  // A bad token shows in the mean, but a score of -∞ would go unnoticed in the partition alone.
  if (task == measures::TiltTask::partition) check_tokens<T>();
  const measures::SumLayout layout(task, dimension());
  const auto pass = [&](const ConstMatrixRef& some, const Vector& around, const Execution& how) {
    auto problem = make_problem<T>(tokens_, log_weights_, task, some);
    const std::vector<T> centre = convert<T>(around);
    if (task == measures::TiltTask::covariance) problem.centre = centre;
    const measures::WeightedSums sums = measures::accumulate_prompt(problem, how);
    std::vector<measures::CentredTilt> results;
    for (std::ptrdiff_t q = 0; q < some.cols(); ++q) {
      results.push_back(tilt_from_sums(sums, layout, order, length(), widen(centre), q));
      if (!results.back().is_finite()) explain_non_finite();
    }
    return results;
  };

  const Vector centre = task == measures::TiltTask::covariance ? moment_centre() : Vector::Zero(dimension());
  std::vector<Tilt> tilts(static_cast<std::size_t>(directions.cols()));
  for_each_pass(directions.cols(), layout.rows, length(), execution,
                [&](std::ptrdiff_t first, std::ptrdiff_t count, const Execution& how) {
                  auto results = pass(directions.middleCols(first, count), centre, how);
                  for (std::ptrdiff_t q = 0; q < count; ++q) {
                    measures::CentredTilt& result = results[static_cast<std::size_t>(q)];
                    if (result.cancellation > measures::kMostCancellation<T>) {
                      result = std::move(pass(directions.col(first + q), result.tilt.mean, how).front());
                    }
                    tilts[static_cast<std::size_t>(first + q)] = std::move(result.tilt);
                  }
                });
  return tilts;
}

Matrix EmpiricalMeasure::tilted_covariance_products(const ConstMatrixRef& directions,
                                                    const ConstMatrixRef& vectors,
                                                    const Execution& execution) const {
  check_pairs(directions, vectors);
  if (execution.device != nullptr) return products_on_device(directions, vectors, execution);
  return arithmetic_ == Arithmetic::float32 ? products_in<float>(directions, vectors, execution)
                                            : products_in<double>(directions, vectors, execution);
}

template <typename T>
Matrix EmpiricalMeasure::products_in(const ConstMatrixRef& directions, const ConstMatrixRef& vectors,
                                     const Execution& execution) const {
  const measures::SumLayout layout(measures::TiltTask::covariance_product, dimension());
  Matrix products(dimension(), directions.cols());
  // Fills columns [first, first + count) and returns those with too much cancellation and their tilted means.
  const auto pass = [&](std::ptrdiff_t first, std::ptrdiff_t count, const Vector& around,
                        const Execution& how) {
    auto problem = make_problem<T>(tokens_, log_weights_, measures::TiltTask::covariance_product,
                                   directions.middleCols(first, count));
    problem.vectors = interleave<T>(vectors.middleCols(first, count), problem.groups, problem.width);
    problem.centre = convert<T>(around);
    const measures::WeightedSums sums = measures::accumulate_prompt(problem, how);
    std::vector<std::pair<std::ptrdiff_t, Vector>> cancelled;
    for (std::ptrdiff_t q = 0; q < count; ++q) {
      const Vector offset = rows_over_partition(sums, layout.centred, dimension(), q);
      const Vector moment = rows_over_partition(sums, layout.products, dimension(), q);
      products.col(first + q) = moment - offset * offset.dot(vectors.col(first + q));
      if (moment.norm() > measures::kMostCancellation<T> * products.col(first + q).norm()) {
        cancelled.emplace_back(first + q, widen(problem.centre) + offset);
      }
    }
    return cancelled;
  };
  const Vector centre = moment_centre();
  for_each_pass(directions.cols(), layout.rows, length(), execution,
                [&](std::ptrdiff_t first, std::ptrdiff_t count, const Execution& how) {
                  for (const auto& [q, mean] : pass(first, count, centre, how)) pass(q, 1, mean, how);
                });
  if (!products.allFinite()) explain_non_finite();
  return products;
}

Vector EmpiricalMeasure::moment_centre() const {
  const std::int64_t count = std::min(length(), kCentreTokens);
  Vector sum = Vector::Zero(dimension());
  for (std::int64_t k = 0; k < count; ++k) {
    const std::int64_t l = k * (length() / count);  // spread over the prompt, which may be sorted
    for (std::ptrdiff_t j = 0; j < dimension(); ++j) sum[j] += tokens_(l, j) / static_cast<double>(count);
  }
  return sum;
}

// Tokens are not checked beforehand, as that would be a pass of its own; a bad one shows in the result.
void EmpiricalMeasure::explain_non_finite() const {
  check_tokens<double>();
  fail("EmpiricalMeasure",
       arithmetic_ == Arithmetic::float32
           ? "a score or a moment overflows float32: use float64 arithmetic, or scale down U"
           : "a score or a moment overflows float64: scale down U or the tokens");
}

template <typename T>
void EmpiricalMeasure::check_tokens() const {
  for (std::int64_t l = 0; l < length(); ++l) {
    for (std::ptrdiff_t j = 0; j < dimension(); ++j) {
      if (!(std::abs(tokens_(l, j)) <= static_cast<double>(std::numeric_limits<T>::max()))) {
        fail("EmpiricalMeasure", fmt::format("token {}, coordinate {}", l, j), tokens_(l, j),
             std::is_same_v<T, float> ? "finite in float32" : "finite");
      }
    }
  }
}

double EmpiricalMeasure::sub_gaussian_constant() const {
  const Vector centre_of_mass = mean();
  double largest = 0;
  for (std::int64_t l = 0; l < length(); ++l) {
    if (probabilities_.size() > 0 && probabilities_[l] == 0) continue;
    double square = 0;
    for (std::ptrdiff_t j = 0; j < dimension(); ++j) {
      const double offset = tokens_(l, j) - centre_of_mass[j];
      square += offset * offset;
    }
    largest = std::max(largest, square);
  }
  return std::sqrt(largest);
}

void EmpiricalMeasure::sample(const Stream& stream, std::uint64_t first_token,
                              Eigen::Ref<RowMatrix> tokens) const {
  check_size("sample", "each token", tokens.cols(), dimension());
  const std::vector<double> uniforms = measures::side_uniforms(stream, first_token, tokens.rows());
  for (std::ptrdiff_t i = 0; i < tokens.rows(); ++i) {
    const double u = uniforms[static_cast<std::size_t>(i)];
    const std::int64_t l =
        cumulative_.empty()
            ? std::min(length() - 1, static_cast<std::int64_t>(u * static_cast<double>(length())))
            : measures::pick(cumulative_, u);
    for (std::ptrdiff_t j = 0; j < dimension(); ++j) tokens(i, j) = tokens_(l, j);
  }
}

ScoreLaw EmpiricalMeasure::score_law(const ConstVectorRef& direction) const {
  check_direction(direction);
  ScoreLaw law;
  law.components.reserve(static_cast<std::size_t>(length()));
  for (std::int64_t l = 0; l < length(); ++l) {
    ScoreComponent atom;
    atom.weight = probabilities_.size() > 0 ? probabilities_[l] : 1 / static_cast<double>(length());
    if (atom.weight == 0) continue;
    atom.mean.resize(dimension());
    for (std::ptrdiff_t j = 0; j < dimension(); ++j) {
      atom.mean[j] = tokens_(l, j);
      atom.centre += tokens_(l, j) * direction[j];
    }
    if (!std::isfinite(atom.centre)) explain_non_finite();
    law.components.push_back(std::move(atom));
  }
  return law;
}

Vector EmpiricalMeasure::softmax_weights(const ConstVectorRef& direction) const {
  check_direction(direction);
  std::vector<double> scores(static_cast<std::size_t>(length()));
  for (std::int64_t l = 0; l < length(); ++l) {
    double score = log_weights_.size() > 0 ? log_weights_[l] : 0.0;
    for (std::ptrdiff_t j = 0; j < dimension(); ++j) score += tokens_(l, j) * direction[j];
    if (std::isnan(score) || score > std::numeric_limits<double>::max()) explain_non_finite();
    scores[static_cast<std::size_t>(l)] = score;
  }
  return numerics::softmax(scores);
}

}  // namespace largo
