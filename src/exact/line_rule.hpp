// The trapezoidal rule on the line for several integrals that share their nodes, refined by halving the step.
//
// The integrands are analytic in a strip around the line and fall off doubly exponentially, or nearly so, in
// the variable v. So the error of the rule is about squared when its step is halved. Nodes are taken outwards
// from v = 0 until no integrand matters any more.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <deque>
#include <limits>
#include <utility>
#include <vector>

#include "largo/numerics/estimate.hpp"

namespace largo::exact {

/// The integrands at one node, each multiplied by the slope of the variable.
struct LineValues {
  std::vector<double> value;
  std::vector<double> magnitude;  ///< at least |value|; more where terms cancel
  double uncertainty = 0;         ///< relative to the magnitudes, in epsilons
};

/// Integrand: at(v, depth, LineValues&) computes the integrands at v to within e^-depth, relative.
template <typename Integrand>
class LineRule {
 public:
  LineRule(Integrand integrand, std::size_t count, double step)
      : integrand_(std::move(integrand)), largest_(count), sums_(count), coarse_(sums_), step_(step) {
    here_.value.resize(count);
    here_.magnitude.resize(count);
    // Outwards from the middle until the integrands no longer matter.
    depths_.push_front(add(0, kDepth));
    while (depths_.front() > 0) depths_.push_front(add(first_ -= step_, depths_.front()));
    for (double last = 0; depths_.back() > 0;) depths_.push_back(add(last += step_, depths_.back()));
  }

  /// The integrals, with the step halved until they change by less than kEnough, at most `halvings` times.
  /// The error estimate is that of the rule, from the last halving, plus that of rounding, from the integrals
  /// of the magnitudes.
  std::vector<Estimate> integrals(int halvings) {
    std::vector<Estimate> results(largest_.size());
    for (int halving = 0; halving < halvings; ++halving) {
      halve();
      if (estimate(results) < kEnough) break;
    }
    return results;
  }

 private:
  // A change of this size means an error of the order of the machine epsilon.
  static constexpr double kEnough = 1e-8;
  // Integrands are followed down to e^-kDepth of their maximum, with some to spare, as the next node may lie
  // higher.
  static constexpr double kDepth = 38;
  static constexpr double kLeastDepth = 6;
  static constexpr double kMargin = 3;
  // Smaller integrals have too few digits to converge.
  static constexpr double kSmallestFollowed = 1e-290;

  struct Sums {
    explicit Sums(std::size_t count) : value(count), magnitude(count), uncertainty(count) {}
    std::vector<double> value, magnitude;
    std::vector<double> uncertainty;  // sum of the rounding errors, in epsilons
  };

  // Adds the integrands at v, each to within e^-depth, and returns the depth that the neighbouring nodes
  // need: what is small compared with the largest so far need not be accurate. A node where nothing matters
  // gives zero or less.
  double add(double v, double depth) {
    integrand_.at(v, std::max(depth, kLeastDepth), here_);
    double share = 0;
    for (std::size_t q = 0; q < largest_.size(); ++q) {
      const double magnitude = here_.magnitude[q];
      sums_.value[q] += here_.value[q];
      sums_.magnitude[q] += magnitude;
      sums_.uncertainty[q] += magnitude * here_.uncertainty;
      largest_[q] = std::max(largest_[q], magnitude);
      if (largest_[q] > 0) share = std::max(share, magnitude / largest_[q]);
    }
    return std::min(kDepth, kDepth + std::log(share) + kMargin);
  }

  void halve() {
    coarse_ = sums_;
    std::deque<double> refined;
    for (std::size_t i = 0; i + 1 < depths_.size(); ++i) {
      const double depth = std::max(depths_[i], depths_[i + 1]);
      refined.push_back(depths_[i]);
      refined.push_back(depth);
      add(first_ + (static_cast<double>(i) + 0.5) * step_, depth);
    }
    refined.push_back(depths_.back());
    depths_ = std::move(refined);
    step_ *= 0.5;
  }

  // Sets the estimates from the last two sums and returns the largest relative change.
  double estimate(std::vector<Estimate>& results) const {
    double worst = 0;
    for (std::size_t q = 0; q < results.size(); ++q) {
      const double fine = sums_.value[q] * step_;
      const double change = std::abs(fine - coarse_.value[q] * 2 * step_);
      const double size = sums_.magnitude[q] * step_;
      const double relative = size > 0 ? change / size : 0;
      if (size > kSmallestFollowed) worst = std::max(worst, relative);
      results[q] = {fine, size * relative * std::min(1.0, 100 * relative) +
                              std::numeric_limits<double>::epsilon() * sums_.uncertainty[q] * step_};
    }
    return worst;
  }

  Integrand integrand_;
  LineValues here_;
  std::vector<double> largest_;  // magnitude of each integrand
  Sums sums_, coarse_;
  double first_ = 0, step_;
  std::deque<double> depths_;  // of the nodes, from first_ on
};

}  // namespace largo::exact
