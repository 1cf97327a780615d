#include "largo/measures/empirical.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "largo/numerics/check.hpp"
#include "largo/numerics/log_sum_exp.hpp"
#include "measures/sampling.hpp"
#include "measures/tilt_kernel.hpp"

namespace largo {
namespace {

// Tokens averaged for the point that second moments are taken around: any point among the tokens serves.
constexpr std::int64_t kCentreTokens = 64;

std::ptrdiff_t checked_dimension(const ArrayView& tokens) {
  if (tokens.rows < 1) fail("EmpiricalMeasure", "number of tokens", "0", "at least 1");
  return tokens.columns;
}

template <typename T>
AlignedVector<T> interleave(const ConstMatrixRef& columns, std::int64_t groups, std::int64_t width) {
  const std::int64_t d = columns.rows();
  // Lanes beyond the last direction repeat it: they cost nothing and produce no surprises.
  AlignedVector<T> interleaved(static_cast<std::size_t>(groups * d * width));
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
TiltProblem<T> make_problem(const ArrayView& tokens, const Vector& log_weights, TiltTask task,
                            const ConstMatrixRef& directions) {
  TiltProblem<T> problem;
  problem.tokens = tokens;
  problem.log_weights = log_weights.size() > 0 ? log_weights.data() : nullptr;
  problem.task = task;
  problem.width = group_width<T>(directions.cols());
  problem.groups = (directions.cols() + problem.width - 1) / problem.width;
  problem.directions = interleave<T>(directions / kScoreUnit<T>, problem.groups, problem.width);
  return problem;
}

template <typename T>
std::vector<T> convert(const Vector& values) {
  std::vector<T> converted(static_cast<std::size_t>(values.size()));
  std::transform(values.begin(), values.end(), converted.begin(), [](double x) { return static_cast<T>(x); });
  return converted;
}

Vector rows_over_partition(const WeightedSums& sums, std::int64_t first, std::int64_t count, std::int64_t q) {
  const double partition = sums.value(0, q);
  Vector values(count);
  for (std::int64_t i = 0; i < count; ++i) values[i] = sums.value(first + i, q) / partition;
  return values;
}

// log of the mean of e^{score - maximum}. Near its largest value, 0, from the difference to equal scores:
// these then give exactly 0, and Λ is their common value.
double log_mean_weight(const WeightedSums& sums, std::int64_t row, std::int64_t length, std::int64_t q) {
  const auto count = static_cast<double>(length);
  const double largest = weight_of(sums.unit() * sums.maximum(q), sums.unit() * sums.reference(q));
  const double ratio = sums.value(row, q) / largest / count;
  if (ratio < 0.5) return std::log(ratio);
  return std::log1p(sums.excess(row, q, count, largest) / (count * largest));
}

Tilt tilt_from_sums(const WeightedSums& sums, const SumLayout& layout, TiltOrder order, std::int64_t length,
                    const Vector& centre, std::int64_t q) {
  const std::int64_t d = centre.size();
  Tilt tilt;
  tilt.log_partition = sums.unit() * sums.maximum(q) + log_mean_weight(sums, layout.partition, length, q);
  if (order >= TiltOrder::mean) tilt.mean = rows_over_partition(sums, layout.tokens, d, q);
  if (order >= TiltOrder::covariance) {
    const Vector offset = tilt.mean - centre;
    const Vector moments = rows_over_partition(sums, layout.pairs, d * (d + 1) / 2, q);
    tilt.covariance.resize(d, d);
    std::int64_t row = 0;
    for (std::int64_t i = 0; i < d; ++i) {
      for (std::int64_t j = i; j < d; ++j) {
        tilt.covariance(i, j) = moments[row++] - offset[i] * offset[j];
        tilt.covariance(j, i) = tilt.covariance(i, j);
      }
    }
  }
  return tilt;
}

bool is_finite(const Tilt& tilt) {
  return std::isfinite(tilt.log_partition) && tilt.mean.allFinite() && tilt.covariance.allFinite();
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
  return arithmetic_ == Arithmetic::float32 ? tilts_in<float>(directions, order, execution)
                                            : tilts_in<double>(directions, order, execution);
}

template <typename T>
std::vector<Tilt> EmpiricalMeasure::tilts_in(const ConstMatrixRef& directions, TiltOrder order,
                                             const Execution& execution) const {
  constexpr TiltTask kTasks[] = {TiltTask::partition, TiltTask::mean, TiltTask::covariance};
  const TiltTask task = kTasks[static_cast<int>(order)];
  const SumLayout layout(task, dimension());
  // The centre as the kernel has it, rounded to T.
  const std::vector<T> rounded =
      convert<T>(task == TiltTask::covariance ? moment_centre() : Vector::Zero(dimension()));
  const Vector centre = Eigen::Map<const Eigen::Matrix<T, Eigen::Dynamic, 1>>(rounded.data(), dimension())
                            .template cast<double>();
  std::vector<Tilt> tilts;
  for (std::ptrdiff_t first = 0; first < directions.cols(); first += kDirectionsPerPass) {
    const auto count = std::min<std::ptrdiff_t>(kDirectionsPerPass, directions.cols() - first);
    auto problem = make_problem<T>(tokens_, log_weights_, task, directions.middleCols(first, count));
    if (task == TiltTask::covariance) problem.centre = rounded;
    const WeightedSums sums = accumulate_prompt(problem, execution);
    for (std::ptrdiff_t q = 0; q < count; ++q) {
      tilts.push_back(tilt_from_sums(sums, layout, order, length(), centre, q));
      if (!is_finite(tilts.back())) explain_non_finite();
    }
  }
  return tilts;
}

Matrix EmpiricalMeasure::tilted_covariance_products(const ConstMatrixRef& directions,
                                                    const ConstMatrixRef& vectors,
                                                    const Execution& execution) const {
  check_pairs(directions, vectors);
  return arithmetic_ == Arithmetic::float32 ? products_in<float>(directions, vectors, execution)
                                            : products_in<double>(directions, vectors, execution);
}

template <typename T>
Matrix EmpiricalMeasure::products_in(const ConstMatrixRef& directions, const ConstMatrixRef& vectors,
                                     const Execution& execution) const {
  const SumLayout layout(TiltTask::covariance_product, dimension());
  Matrix products(dimension(), directions.cols());
  for (std::ptrdiff_t first = 0; first < directions.cols(); first += kDirectionsPerPass) {
    const auto count = std::min<std::ptrdiff_t>(kDirectionsPerPass, directions.cols() - first);
    auto problem = make_problem<T>(tokens_, log_weights_, TiltTask::covariance_product,
                                   directions.middleCols(first, count));
    problem.vectors = interleave<T>(vectors.middleCols(first, count), problem.groups, problem.width);
    problem.centre = convert<T>(moment_centre());
    const WeightedSums sums = accumulate_prompt(problem, execution);
    for (std::ptrdiff_t q = 0; q < count; ++q) {
      const Vector offset = rows_over_partition(sums, layout.centred, dimension(), q);
      const Vector moment = rows_over_partition(sums, layout.products, dimension(), q);
      products.col(first + q) = moment - offset * offset.dot(vectors.col(first + q));
    }
  }
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
  for (std::int64_t l = 0; l < length(); ++l) {
    for (std::ptrdiff_t j = 0; j < dimension(); ++j) {
      if (!std::isfinite(tokens_(l, j))) {
        fail("EmpiricalMeasure", fmt::format("token {}, coordinate {}", l, j), tokens_(l, j), "finite");
      }
    }
  }
  fail("EmpiricalMeasure",
       arithmetic_ == Arithmetic::float32
           ? "a score or a moment overflows float32: use float64 arithmetic, or scale down U"
           : "a score or a moment overflows float64: scale down U or the tokens");
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
  const std::vector<double> uniforms = side_uniforms(stream, first_token, tokens.rows());
  const std::vector<double> cumulative =
      probabilities_.size() > 0 ? cumulative_sum(probabilities_) : std::vector<double>{};
  for (std::ptrdiff_t i = 0; i < tokens.rows(); ++i) {
    const double u = uniforms[static_cast<std::size_t>(i)];
    const std::int64_t l =
        cumulative.empty()
            ? std::min(length() - 1, static_cast<std::int64_t>(u * static_cast<double>(length())))
            : pick(cumulative, u);
    for (std::ptrdiff_t j = 0; j < dimension(); ++j) tokens(i, j) = tokens_(l, j);
  }
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
  return softmax(scores);
}

}  // namespace largo
