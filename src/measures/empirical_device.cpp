// Tilts of a prompt on a device.
#include <cmath>
#include <numbers>

#include "largo/measures/empirical.hpp"
#include "largo/runtime/check.hpp"
#include "largo/runtime/device.hpp"
#include "measures/centred_tilt.hpp"
#include "measures/tilt_engine.hpp"
#include "measures/tilt_kernel.hpp"

namespace largo {
namespace {

constexpr const char* kAttentionOnGpu = "attention on a GPU";

measures::CentredTilt tilt_of(std::span<const double> row, const Vector& direction, const Vector& centre,
                              TiltOrder order, std::int64_t length) {
  const Eigen::Index d = centre.size();
  const double weight = row[0];
  measures::CentredTilt result;
  Tilt& tilt = result.tilt;
  tilt.log_partition =
      row.back() * std::numbers::ln2 + std::log(weight / static_cast<double>(length)) + direction.dot(centre);
  const Vector offset = Eigen::Map<const Vector>(row.data() + 2, d) / weight;
  if (order >= TiltOrder::mean) tilt.mean = centre + offset;
  if (order < TiltOrder::covariance) return result;
  tilt.covariance.resize(d, d);
  const double* next = row.data() + 2 + d;
  for (Eigen::Index j = 0; j < d; ++j) {
    for (Eigen::Index i = 0; i <= j; ++i) tilt.covariance(i, j) = tilt.covariance(j, i) = *next++ / weight;
  }
  result.take_off(offset);
  return result;
}

}  // namespace

EmpiricalMeasure EmpiricalMeasure::kept_on(const Device& device) const {
  EmpiricalMeasure same = *this;
  if (keeper_ == &device) return same;
  same.keeper_ = &device;
  same.kept_ = engine_of<measures::TiltEngine>(device).keep(tokens_);
  return same;
}

std::shared_ptr<measures::KeptPrompt> EmpiricalMeasure::kept_for(const Execution& execution) const {
  if (arithmetic_ != Arithmetic::float32) {
    fail(kAttentionOnGpu, "precision", "float64", "float32 on a GPU: ask for float32, or attend on the CPU");
  }
  if (log_weights_.size() > 0)
    fail(kAttentionOnGpu, "tokens of unequal weights are not summed on a GPU: attend on the CPU");
  return keeper_ == execution.device ? kept_
                                     : engine_of<measures::TiltEngine>(*execution.device).keep(tokens_);
}

std::vector<Tilt> EmpiricalMeasure::tilts_on_device(const ConstMatrixRef& directions, TiltOrder order,
                                                    const Execution& execution) const {
  const std::shared_ptr<measures::KeptPrompt> prompt = kept_for(execution);
  const bool covariance = order == TiltOrder::covariance;
  const std::size_t width = measures::KeptPrompt::row_size(dimension(), covariance);
  const auto pass = [&](const Matrix& some, const Vector& around) {
    std::vector<double> rows(static_cast<std::size_t>(some.cols()) * width);
    prompt->sum(some, around, covariance, execution, rows);
    std::vector<measures::CentredTilt> results;
    for (Eigen::Index q = 0; q < some.cols(); ++q) {
      const std::span<const double> row(rows.data() + static_cast<std::size_t>(q) * width, width);
      // A bad token shows in the mean, which is in the row even if it was not asked for.
      if (!std::all_of(row.begin(), row.end(), [](double x) { return std::isfinite(x); })) {
        explain_non_finite();
      }
      results.push_back(tilt_of(row, some.col(q), around, order, length()));
      if (!results.back().is_finite()) explain_non_finite();
    }
    return results;
  };
  // Rounded to float32, so that the device subtracts exactly the centre that is added here.
  const auto rounded = [](const Vector& x) { return Vector(x.cast<float>().cast<double>()); };
  std::vector<measures::CentredTilt> results = pass(directions, rounded(moment_centre()));
  std::vector<Tilt> tilts;
  for (std::size_t q = 0; q < results.size(); ++q) {
    if (results[q].cancellation > measures::kMostCancellation<float>) {
      results[q] = pass(directions.col(static_cast<Eigen::Index>(q)), rounded(results[q].tilt.mean)).front();
    }
    tilts.push_back(std::move(results[q].tilt));
  }
  return tilts;
}

Matrix EmpiricalMeasure::products_on_device(const ConstMatrixRef& directions, const ConstMatrixRef& vectors,
                                            const Execution& execution) const {
  const EmpiricalMeasure kept = kept_on(*execution.device);  // kept for all passes below
  Matrix products(dimension(), directions.cols());
  // Successive columns with the same direction share its covariance; at most kDirectionsPerPass covariances
  // are in memory at a time.
  for (Eigen::Index first = 0; first < directions.cols();) {
    std::vector<Eigen::Index> starts;  // of runs of equal columns
    Eigen::Index end = first;
    for (; end < directions.cols(); ++end) {
      if (end > first && directions.col(end) == directions.col(end - 1)) continue;
      if (std::ssize(starts) == measures::kDirectionsPerPass) break;
      starts.push_back(end);
    }
    const auto tilts =
        kept.tilts_on_device(Matrix(directions(Eigen::all, starts)), TiltOrder::covariance, execution);
    std::size_t run = 0;
    for (Eigen::Index q = first; q < end; ++q) {
      if (run + 1 < starts.size() && q == starts[run + 1]) ++run;
      products.col(q) = tilts[run].covariance * vectors.col(q);
    }
    first = end;
  }
  return products;
}

}  // namespace largo
