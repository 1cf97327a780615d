#include "concentration/partition_domain.hpp"

#include <cmath>

#include "largo/runtime/check.hpp"

namespace largo::concentration {
namespace {

constexpr int kNearestPower = -20, kFarthestPower = 6;  // of 2, in units of 1/spread
constexpr double kBisection = 1e-9;                     // relative
constexpr Eigen::Index kRandomDirections = 16;
constexpr std::uint64_t kDirectionSeed = 11;

// The square root of the largest variance along an axis; 1 if it is zero or not known.
double spread_of(const Measure& law) {
  try {
    const double largest = law.covariance().diagonal().maxCoeff();
    return largest > 0 ? std::sqrt(largest) : 1;
  } catch (const InputError&) {
    return 1;  // Λ is infinite next to zero
  }
}

// The length from which on Λ is infinite along a unit direction; the given one if Λ was finite nowhere.
double infinite_from(const Measure& law, const Vector& along, double finite, double infinite) {
  while (finite > 0 && infinite - finite > kBisection * infinite) {
    const double middle = 0.5 * (finite + infinite);
    (std::isinf(log_partition_at(law, middle * along)) ? infinite : finite) = middle;
  }
  return infinite;
}

}  // namespace

double log_partition_at(const Measure& law, const Vector& a) {
  const double value = law.log_partition(a);
  if (std::isnan(value) || value == -std::numeric_limits<double>::infinity())
    fail("log_partition", "value of a user-defined law", value, "a number, or +inf where it is infinite");
  return value;
}

PartitionDomain partition_domain(const Measure& law, const Matrix& directions) {
  PartitionDomain domain;
  domain.proved = law.sub_gaussian_kind() != SubGaussianKind::at_least;
  if (domain.proved) return domain;
  const double unit = 1 / spread_of(law);
  domain.searched = std::ldexp(unit, kFarthestPower);
  for (Eigen::Index column = 0; column < directions.cols(); ++column) {
    if (!(directions.col(column).norm() > 0)) continue;
    for (const double sign : {1.0, -1.0}) {
      const Vector along = sign * directions.col(column).normalized();
      double finite = 0;
      for (int power = kNearestPower; power <= kFarthestPower; ++power) {
        const double length = std::ldexp(unit, power);
        if (!std::isinf(log_partition_at(law, length * along))) {
          finite = length;
          continue;
        }
        const double from = infinite_from(law, along, finite, length);
        if (from < domain.radius) {
          domain.radius = from;
          domain.where = from * along;
        }
        break;
      }
    }
  }
  return domain;
}

Matrix search_directions(const Matrix& U) {
  Matrix random(U.cols(), kRandomDirections);
  Stream(kDirectionSeed, 0).normals(0, {random.data(), static_cast<std::size_t>(random.size())});
  Matrix all(U.rows(), U.cols() + kRandomDirections);
  all << U, U * random;
  return all;
}

}  // namespace largo::concentration
