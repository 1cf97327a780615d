#include "measures/weighted_sums.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

#include "numerics/double_double.hpp"
#include "numerics/log_sum_exp.hpp"
#include "numerics/simd_math.hpp"

namespace largo::measures {
namespace {

// Finite, so that a score of -∞ (a token of weight zero) minus it is -∞ and not NaN.
constexpr double kNoScoreYet = std::numeric_limits<double>::lowest();

}  // namespace

WeightedSums::WeightedSums(std::int64_t rows, std::int64_t groups, std::int64_t width, Rounding rounding,
                           double unit)
    : rows_(rows),
      width_(width),
      unit_(unit),
      reference_(static_cast<std::size_t>(groups * width), kNoScoreYet),
      maximum_(static_cast<std::size_t>(groups * width), kNoScoreYet),
      sums_(static_cast<std::size_t>(rows * groups * width), 0.0),
      errors_(rounding == Rounding::compensated ? sums_.size() : 0, 0.0) {}

double WeightedSums::value(std::int64_t row, std::int64_t direction) const {
  const std::size_t index = at(row, direction);
  return errors_.empty() ? sums_[index] : sums_[index] + errors_[index];
}

double WeightedSums::excess(std::int64_t row, std::int64_t direction, double count, double term) const {
  const std::size_t index = at(row, direction);
  const double product = count * term;
  const double remainder = (sums_[index] - product) - std::fma(count, term, -product);
  return errors_.empty() ? remainder : remainder + errors_[index];
}

void WeightedSums::raise(std::int64_t direction, double score) {
  const auto q = static_cast<std::size_t>(direction);
  maximum_[q] = std::max(maximum_[q], score);
  if (score <= reference_[q]) return;
  const double raised = numerics::score_reference(score);
  if (reference_[q] != kNoScoreYet) rescale(direction, scale_between(reference_[q], raised));
  reference_[q] = raised;
}

double WeightedSums::scale_between(double from, double to) const {
  double factor = unit_ * (from - to);
  numerics::exp(std::span<const double>(&factor, 1), std::span<double>(&factor, 1));
  return factor;
}

void WeightedSums::rescale(std::int64_t direction, double factor) {
  for (std::int64_t row = 0; row < rows_; ++row) {
    const std::size_t index = at(row, direction);
    const double product = sums_[index] * factor;
    if (!errors_.empty()) {
      errors_[index] = errors_[index] * factor + std::fma(sums_[index], factor, -product);
    }
    sums_[index] = product;
  }
}

void WeightedSums::add_row(std::int64_t row, std::int64_t group, const double* terms, const double* errors) {
  for (std::int64_t lane = 0; lane < width_; ++lane) {
    const std::size_t index = at(row, group * width_ + lane);
    const double sum = sums_[index] + terms[lane];
    if (!errors_.empty())
      errors_[index] += numerics::two_sum_error(sums_[index], terms[lane], sum) + errors[lane];
    sums_[index] = sum;
  }
}

void WeightedSums::merge(const WeightedSums& next) {
  const auto directions = static_cast<std::int64_t>(reference_.size());
  std::vector<double> factors(reference_.size(), 0.0);  // zero where the next piece has no score
  for (std::int64_t q = 0; q < directions; ++q) {
    const auto k = static_cast<std::size_t>(q);
    if (next.reference_[k] == kNoScoreYet) continue;
    raise(q, next.maximum_[k]);
    // Afterwards this reference is at least the other one.
    factors[k] = next.reference_[k] == reference_[k] ? 1.0 : scale_between(next.reference_[k], reference_[k]);
  }
  for (std::int64_t group = 0; group < directions / width_; ++group) {
    const double* factor = factors.data() + group * width_;
    const auto begin = static_cast<std::size_t>(group * rows_ * width_);
    for (std::int64_t row = 0; row < rows_; ++row) {
      for (std::int64_t lane = 0; lane < width_; ++lane) {
        const std::size_t index = begin + static_cast<std::size_t>(row * width_ + lane);
        const double other = next.sums_[index] * factor[lane];
        const double sum = sums_[index] + other;
        if (!errors_.empty()) {
          errors_[index] += numerics::two_sum_error(sums_[index], other, sum) +
                            next.errors_[index] * factor[lane] +
                            std::fma(next.sums_[index], factor[lane], -other);
        }
        sums_[index] = sum;
      }
    }
  }
}

}  // namespace largo::measures
