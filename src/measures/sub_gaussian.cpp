// The sub-Gaussian constant of a law of which only the log-partition is known:
// sup_a √(2(Λ(a) − <a, mean>))/‖a‖ as far as a search finds it, which is a lower bound. Axes, diagonals,
// principal axes and 64 random directions are searched at radii of 1/16 to 64 over the length scale of the
// law; the best eight are then followed uphill in direction and radius. A needle between the directions may
// be missed. Cost: about 22 d² + 3000 log-partitions and up to 500 tilts (means).

#include <algorithm>
#include <cmath>
#include <vector>

#include "largo/measures/measure.hpp"
#include "largo/runtime/check.hpp"
#include "numerics/factor.hpp"

namespace largo {
namespace {

constexpr double kNearest = 1.0 / 16, kFarthest = 64;  // in units of 1/scale
constexpr std::uint64_t kSeed = 7, kRandom = 64;
constexpr std::size_t kFollowed = 8;
constexpr int kRounds = 6, kSteps = 10;
constexpr double kGain = 1e-9;  // relative; a smaller gain ends the search
constexpr double kFirstStep = 1.4142135623730951, kLastStep = 1.001;  // factors of the radius

struct Found {
  double value;  // σ²
  Vector at;
};

class Search {
 public:
  Search(const Measure& law, double scale) : law_(law), scale_(scale), centre_(law.mean()) {}

  void look(const Vector& along) {
    for (const double sign : {1.0, -1.0}) {
      Found best{0, {}};
      for (double radius = kNearest; radius <= kFarthest; radius *= 2) {
        best = better(best, sign * radius / scale_ * along);
      }
      if (best.value > 0) found_.push_back(best);
    }
  }

  double best() {
    std::stable_sort(found_.begin(), found_.end(),
                     [](const Found& a, const Found& b) { return a.value > b.value; });
    double largest = 0;
    for (std::size_t k = 0; k < std::min(kFollowed, found_.size()); ++k) {
      largest = std::max(largest, followed(found_[k]).value);
    }
    return largest;
  }

 private:
  // The larger of `so_far` and the value at `a`.
  Found better(const Found& so_far, const Vector& a) const {
    const double value = 2 * (law_.log_partition(a) - a.dot(centre_)) / a.squaredNorm();
    return value > so_far.value ? Found{value, a} : so_far;
  }

  Found followed(Found found) const {
    for (int round = 0; round < kRounds && std::isfinite(found.value); ++round) {
      const double before = found.value;
      found = in_radius(in_direction(found));
      if (!(found.value > before * (1 + kGain))) break;
    }
    return found;
  }

  // Λ − <·, mean> is convex, so at its gradient, scaled to the same radius, it is never lower.
  Found in_direction(Found found) const {
    for (int step = 0; step < kSteps; ++step) {
      try {
        const Vector slope = law_.tilt(found.at, TiltOrder::mean).mean - centre_;
        if (!(slope.norm() > 0)) return found;
        const Found next = better(found, found.at.norm() / slope.norm() * slope);
        if (!(next.value > found.value * (1 + kGain))) return next;
        found = next;
      } catch (const InputError&) {
        return found;  // the differences reach beyond where Λ is finite
      }
    }
    return found;
  }

  Found in_radius(Found found) const {
    double step = kFirstStep;
    while (step > kLastStep && std::isfinite(found.value)) {
      const double radius = found.at.norm() * scale_, before = found.value;
      if (radius * step <= kFarthest) found = better(found, step * found.at);
      if (found.value == before && radius >= step * kNearest) found = better(found, found.at / step);
      if (found.value == before) step = std::sqrt(step);
    }
    return found;
  }

  const Measure& law_;
  double scale_;
  Vector centre_;
  std::vector<Found> found_;
};

}  // namespace

double Measure::sub_gaussian_constant() const {
  const std::ptrdiff_t d = dimension_;
  Search search(*this, length_scale());
  for (std::ptrdiff_t i = 0; i < d; ++i) {
    search.look(Vector::Unit(d, i));
    for (std::ptrdiff_t j = 0; j < i; ++j) {
      search.look((Vector::Unit(d, i) + Vector::Unit(d, j)) / std::sqrt(2.0));
      search.look((Vector::Unit(d, i) - Vector::Unit(d, j)) / std::sqrt(2.0));
    }
  }
  const numerics::SymmetricEigenvalues principal = numerics::symmetric_eigenvalues(covariance());
  for (std::ptrdiff_t i = 0; i < d; ++i) search.look(principal.vectors.col(i));
  for (std::uint64_t i = 0; i < kRandom; ++i) {
    Vector along(d);
    Stream(kSeed, i).normals(0, {along.data(), static_cast<std::size_t>(d)});
    search.look(along.normalized());
  }
  // Near a = 0 the quotient is the variance.
  return std::sqrt(std::max(search.best(), principal.values[d - 1]));
}

const char* name_of(SubGaussianKind kind) {
  constexpr const char* kNames[] = {"smallest", "at most", "at least"};
  return kNames[static_cast<std::size_t>(kind)];
}

}  // namespace largo
