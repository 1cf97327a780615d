// Tilts of a prompt by a device.
#include <cmath>
#include <limits>
#include <numbers>

#include "largo/measures/empirical.hpp"
#include "largo/numerics/check.hpp"
#include "largo/numerics/device.hpp"
#include "measures/tilt_engine.hpp"

namespace largo {
namespace {

constexpr double kMostCancellation = 10;  // as on the CPU in float32

struct DeviceTilt {
  Tilt tilt;
  double cancellation = 1;  // second moment around the centre over the covariance it leaves
};

DeviceTilt tilt_of(std::span<const double> row, const Vector& direction, const Vector& centre,
                   TiltOrder order, std::int64_t length) {
  const Eigen::Index d = centre.size();
  const double weight = row[0];
  DeviceTilt result;
  Tilt& tilt = result.tilt;
  tilt.log_partition =
      row.back() * std::numbers::ln2 + std::log(weight / static_cast<double>(length)) + direction.dot(centre);
  const Vector offset = Eigen::Map<const Vector>(row.data() + 2, d) / weight;
  if (order >= TiltOrder::mean) tilt.mean = centre + offset;
  if (order < TiltOrder::covariance) return result;
  tilt.covariance.resize(d, d);
  const double* next = row.data() + 2 + d;
  double before = 0;
  for (Eigen::Index j = 0; j < d; ++j) {
    for (Eigen::Index i = 0; i <= j; ++i) {
      const double moment = *next++ / weight;
      if (i == j) before += moment;
      tilt.covariance(i, j) = tilt.covariance(j, i) = moment - offset[i] * offset[j];
    }
    tilt.covariance(j, j) = std::max(0.0, tilt.covariance(j, j));
  }
  const double after = tilt.covariance.trace();
  if (before > 0) result.cancellation = after > 0 ? before / after : std::numeric_limits<double>::infinity();
  return result;
}

bool is_finite(const Tilt& tilt) {
  return std::isfinite(tilt.log_partition) && tilt.mean.allFinite() && tilt.covariance.allFinite();
}

}  // namespace

std::vector<Tilt> EmpiricalMeasure::tilts_on_device(const ConstMatrixRef& directions, TiltOrder order,
                                                    const Execution& execution) const {
  constexpr const char* kName = "attention on a GPU";
  if (arithmetic_ != Arithmetic::float32) {
    fail(kName, "precision", "float64", "float32 (--precision float32): or attend with --device cpu");
  }
  if (log_weights_.size() > 0)
    fail(kName, "tokens of unequal weights are not summed there: use --device cpu");
  const bool covariance = order == TiltOrder::covariance;
  const std::size_t width = TiltEngine::row_size(dimension(), covariance);
  const auto pass = [&](const Matrix& some, const Vector& around) {
    std::vector<double> rows(static_cast<std::size_t>(some.cols()) * width);
    execution.device->tilts().sum_prompt(tokens_, some, around, covariance, execution, rows);
    std::vector<DeviceTilt> results;
    for (Eigen::Index q = 0; q < some.cols(); ++q) {
      const std::span<const double> row(rows.data() + static_cast<std::size_t>(q) * width, width);
      results.push_back(tilt_of(row, some.col(q), around, order, length()));
      if (!is_finite(results.back().tilt)) explain_non_finite();
    }
    return results;
  };
  // Numbers of float32: what is subtracted there is subtracted exactly here.
  const auto rounded = [](const Vector& x) { return Vector(x.cast<float>().cast<double>()); };
  std::vector<DeviceTilt> results = pass(directions, rounded(moment_centre()));
  std::vector<Tilt> tilts;
  for (std::size_t q = 0; q < results.size(); ++q) {
    if (results[q].cancellation > kMostCancellation) {
      results[q] = pass(directions.col(static_cast<Eigen::Index>(q)), rounded(results[q].tilt.mean)).front();
    }
    tilts.push_back(std::move(results[q].tilt));
  }
  return tilts;
}

Matrix EmpiricalMeasure::products_on_device(const ConstMatrixRef& directions, const ConstMatrixRef& vectors,
                                            const Execution& execution) const {
  Matrix products(dimension(), directions.cols());
  Matrix covariance;
  for (Eigen::Index q = 0; q < directions.cols(); ++q) {
    if (q == 0 || directions.col(q) != directions.col(q - 1)) {
      covariance = tilts_on_device(directions.col(q), TiltOrder::covariance, execution).front().covariance;
    }
    products.col(q) = covariance * vectors.col(q);
  }
  return products;
}

}  // namespace largo
