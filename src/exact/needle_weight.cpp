// P(S <= 1) for S = Σ of all e^{x_j}, scores shifted so that the level is 1, and Φ(t) = E e^{-tS}:
//
//   P(S <= 1) = 1/(2πi) ∫ e^{t} Φ(t) dt/t,        P(S > 1) = 1/(2πi) ∫ e^{t} (1 - Φ(t)) dt/t
//
// along a contour that crosses the positive axis. It is a hyperbola through the saddle t* of e^t Φ(t)/t,
//
//   t(v) = t* + w {i cos α sinh v - sin α (cosh v - 1)},
//
// w the width of the saddle, with branches that lean to the left by α. How far they may lean depends on the
// law: sums of many tokens are nearly normal, and Φ decays fastest straight up, while of few wide tokens Φ
// hardly decays at all, and it is e^t that makes the integrand small to the left. So angles are tried out:
// the one whose branches end first is taken, among those along which nothing exceeds the saddle by much.
#include "largo/exact/needle_weight.hpp"

#include <algorithm>
#include <boost/math/tools/minima.hpp>
#include <boost/math/tools/toms748_solve.hpp>
#include <cmath>
#include <complex>
#include <cstdint>
#include <limits>
#include <numbers>
#include <utility>

#include <fmt/format.h>

#include "exact/class_node.hpp"
#include "exact/complex_transform.hpp"
#include "largo/runtime/check.hpp"

namespace largo {
namespace {

using Complex = std::complex<double>;

constexpr auto kFunction = "needle_weight";
constexpr double kEpsilon = std::numeric_limits<double>::epsilon();
constexpr double kInfinity = std::numeric_limits<double>::infinity();
// Logarithms of the parts of S relative to the needle: beyond, one of them has all the weight.
constexpr double kFarthestPart = 600;
constexpr double kSmallestWeight = 1e-280;
// Quantiles that cannot be told from the chances are taken from Chebyshev's inequality if W is known so well.
constexpr double kKnown = 1e-6;
constexpr double kGone = 40;  // integrands are followed to e^-kGone of their largest value
// Branches may lean by so many of the smallest spread, where φ keeps its digits, and by no more than kLean.
constexpr double kLeanPerSpread = 2.5, kLean = 1.2;
constexpr double kLeaner = 0.6;  // from one trial to the next
constexpr int kLeanings = 16;
constexpr double kMostExcess = 1.5;     // of |integrand| over the saddle, as a logarithm
constexpr double kEnoughLean = 0.05;    // for e^t alone to end the integrals
constexpr double kLargestSaddle = 100;  // beyond, nothing is lost by integrating Φ alone
constexpr double kLargestLog = 700;
constexpr double kWholeBelow = 1000;
constexpr double kResolved = 0.1;  // the error of a chance whose quantile is asked for, relative
constexpr double kFirstStep = 0.25;
constexpr double kTrialStep = 0.5;
constexpr double kLeastChance = 1e-280;  // smaller ones are zero
constexpr double kFarthest = 60;         // in v; |t| is then w e^60
constexpr int kHalvings = 11;
constexpr double kConverged = 1e-8;  // the error is then about the square
// Below, sums are taken for their means, to within Chebyshev's inequality: doubles do not resolve the rest.
constexpr double kSmallestDeviation = 1e-11;

// ln Φ(t), and its error.
struct LogPhi {
  Complex value;
  double error = 0;
};

// 1 - e^z, with its digits for small z.
Complex one_minus_exp(Complex z) {
  const double size = std::exp(z.real()), half = std::sin(0.5 * z.imag());
  return {-std::expm1(z.real()) + 2 * size * half * half, -size * std::sin(z.imag())};
}

class Contour {
 public:
  /// The level is 1; its relative error is `rounding`.
  Contour(const std::vector<TokenClass>& classes, double rounding) : classes_(classes), rounding_(rounding) {
    find_saddle();
    // Chernoff's bound on P(S <= 1).
    most_within_ = std::exp(log_top_) * saddle_;
    if (most_within_ > kLeastChance) choose_lean();
  }

  NeedleWeight::Chances chances() const {
    if (!(most_within_ > kLeastChance)) return {{1, 0}, {0, kLeastChance}};
    Sums within, beyond;
    double step = kFirstStep;
    add(within, beyond, step, 0);
    for (int halving = 0; halving < kHalvings; ++halving) {
      const Sums coarse_within = within, coarse_beyond = beyond;
      step *= 0.5;
      add(within, beyond, step, 1);
      within.change = change(coarse_within, within);
      beyond.change = change(coarse_beyond, beyond);
      if (within.has_converged() && beyond.has_converged()) break;
    }
    // S > 1 is a weight below, S <= 1 one above.
    const Estimate above = within.estimate(step * std::exp(log_top_));
    NeedleWeight::Chances found{complement(above), above};
    if (leans()) {
      const Estimate below = beyond.estimate(step);
      if (below.error < found.below.error) found.below = below;
      if (complement(below).error < found.above.error) found.above = complement(below);
    }
    for (Estimate* one : {&found.below, &found.above}) {
      one->value = std::clamp(one->value, 0.0, 1.0);
      one->error = std::min(1.0, one->error);
    }
    return found;
  }

 private:
  // Of one integrand, over the nodes so far.
  struct Sums {
    double value = 0, size = 0, rounding = 0;
    double change = 0;  // when the step was last halved, relative to the size

    // Returns whether the term no longer matters.
    bool add(Complex term, double error) {
      const double magnitude = std::abs(term);
      value += term.imag();
      size += magnitude;
      rounding += error;
      return magnitude <= 1e-18 * size;
    }
    // To where the error is about the square, or to rounding.
    bool has_converged() const { return change * size <= std::max(kConverged * size, rounding); }
    Estimate estimate(double unit) const {
      return {value * unit, unit * (size * change * std::min(1.0, 100 * change) + rounding)};
    }
  };
  static double change(const Sums& coarse, const Sums& fine) {
    return fine.size > 0 ? std::abs(fine.value - 2 * coarse.value) / fine.size : 0;
  }
  static Estimate complement(const Estimate& of) { return {1 - of.value, of.error + kEpsilon}; }

  LogPhi log_phi(Complex t) const {
    const double log_size = std::log(std::abs(t)), angle = std::arg(t);
    LogPhi sum;
    for (const TokenClass& one : classes_) {
      const auto [value, error] = exact::log_transform(log_size + one.shift, angle, one.spread);
      sum.value += one.count * value;
      sum.error += one.count * (error + 2 * kEpsilon * std::abs(value));
    }
    return sum;
  }
  double height(double x) const {
    const double t = std::exp(x);
    return t + log_phi(t).value.real() - x;
  }

  // The least of ln {e^t Φ(t)/t} on the positive axis, which is convex in t. It is at 1 or above.
  void find_saddle() {
    double left = 0, right = 1;
    while (height(right) < height(0.5 * right) && right < kLargestLog / 2) right *= 2;
    // A tenth of its width in ln t, which is at most one, is close enough to it.
    double width = 1;
    std::uintmax_t steps = 200;
    double x =
        boost::math::tools::brent_find_minima([&](double at) { return height(at); }, left, right, 20, steps)
            .first;
    for (int i = 0; i < 3; ++i) {
      const double step = 0.3 * width;
      const double bend = (height(x + step) + height(x - step) - 2 * height(x)) / (step * step);
      width = 1 / std::sqrt(std::max(1.0, bend));
    }
    saddle_ = std::exp(x);
    log_top_ = height(x);
    width_ = saddle_ * width;
  }

  struct Place {
    Complex t, slope;  // dt/dv
  };
  Place place(double v, double lean) const {
    const double c = std::cos(lean), s = std::sin(lean);
    return {saddle_ + width_ * Complex(-s * (std::cosh(v) - 1), c * std::sinh(v)),
            width_ * Complex(-s * std::sinh(v), c * std::cosh(v))};
  }

  void choose_lean() {
    double most = kLean;
    for (const TokenClass& one : classes_) most = std::min(most, kLeanPerSpread * one.spread);
    double shortest = kInfinity, lean = most;
    for (int i = 0; i <= kLeanings; ++i, lean *= kLeaner) {
      if (i == kLeanings) lean = 0;
      const double length = length_of(lean, shortest);
      if (length < shortest) {
        shortest = length;
        lean_ = lean;
      } else if (shortest < kInfinity) {
        break;
      }
    }
    if (shortest == kInfinity) fail(kFunction, "the integral over the law of the sum has no contour here");
  }

  // How far from the saddle the branch ends, or infinity where it climbs too high or goes further than
  // `most`.
  double length_of(double lean, double most) const {
    const double top = height_at(0, lean);
    for (double v = kTrialStep; v < kFarthest; v += kTrialStep) {
      if (std::abs(place(v, lean).t) > most) return kInfinity;
      const double height = height_at(v, lean);
      if (height > top + kMostExcess) return kInfinity;
      if (height < top - kGone) return std::abs(place(v, lean).t);
    }
    return kInfinity;
  }
  double height_at(double v, double lean) const {
    const auto [t, slope] = place(v, lean);
    const double found = t.real() + log_phi(t).value.real() + std::log(std::abs(slope / t));
    return std::isnan(found) ? kInfinity : found;
  }

  bool leans() const { return lean_ >= kEnoughLean && saddle_ <= kLargestSaddle; }

  // Adds the nodes of a step: all, or those between the nodes of twice the step.
  void add(Sums& within, Sums& beyond, double step, int between) const {
    for (int k = between, small = 0; small < 3 && k * step < kFarthest; k += 1 + between) {
      const auto [t, slope] = place(k * step, lean_);
      const LogPhi phi = log_phi(t);
      const double error_of_level = rounding_ * std::abs(t) + 8 * kEpsilon;
      const Complex factor = slope / t / std::numbers::pi * (k == 0 ? 0.5 : 1.0);
      const Complex one = std::exp(t + phi.value - log_top_) * factor;
      bool negligible = within.add(one, std::abs(one) * (error_of_level + phi.error));
      if (leans()) {
        const Complex both = std::exp(t + phi.value);
        const Complex rest =
            phi.value.real() < 1 ? std::exp(t) * one_minus_exp(phi.value) : std::exp(t) - both;
        negligible &= beyond.add(
            rest * factor, std::abs(factor) * (std::abs(rest) * error_of_level + std::abs(both) * phi.error));
      }
      small = negligible ? small + 1 : 0;
    }
  }

  const std::vector<TokenClass>& classes_;
  double rounding_;
  double saddle_ = 1, width_ = 1, log_top_ = 0, most_within_ = 1, lean_ = 0;
};

double log_add(double a, double b) { return std::max(a, b) + std::log1p(std::exp(-std::abs(a - b))); }

// A bound on P(S > 1), as a logarithm: where no g is above z, S is at most Σ n e^{b + s z}, and z is where
// that is 1.
double log_most_beyond(const std::vector<TokenClass>& classes) {
  double low = 0, high = 1, tokens = 0;
  for (const TokenClass& one : classes) tokens += one.count;
  const auto most = [&](double z) {
    double sum = -kInfinity;
    for (const TokenClass& one : classes)
      sum = log_add(sum, std::log(one.count) + one.shift + one.spread * z);
    return sum;
  };
  if (most(low) >= 0) return 0;
  while (most(high) < 0) high *= 2;
  for (int i = 0; i < 60; ++i) {
    const double middle = 0.5 * (low + high);
    (most(middle) < 0 ? low : high) = middle;
  }
  return std::log(tokens) - 0.5 * low * low;  // P(g > z) is below e^{-z²/2}
}

}  // namespace

NeedleWeight::NeedleWeight(std::vector<TokenClass> others, double score) {
  exact::check_classes(kFunction, others);
  if (!(std::abs(score) <= kLargestShift)) fail(kFunction, "score", score, "between -1e6 and 1e6");
  for (TokenClass& one : others) {
    if (one.spread > kLargestNeedleSpread)
      fail(kFunction, "spread of a class beside the needle", one.spread, "at most 50");
    if (one.count < kWholeBelow && one.count != std::floor(one.count))
      fail(kFunction, "count", one.count, "a whole number, unless it is 1000 or more");
    size_ = std::max({size_, std::abs(one.shift), std::abs(score)});
    one.shift -= score;
    const double log_part = std::log(one.count) + one.shift;
    if (std::abs(log_part) > kFarthestPart) {
      fail(kFunction,
           fmt::format(
               "the class with count {:g} and shift {:g} is too far from the needle's score, {:g}: one of "
               "the two has all the weight",
               one.count, one.shift + score, score));
    }
    if (one.spread == 0) {
      given_ += std::exp(log_part);
    } else {
      spread_.push_back(one);
      const double squared = one.spread * one.spread;
      log_mean_ = log_add(log_mean_, log_part + 0.5 * squared);
      log_variance_ =
          log_add(log_variance_, log_part + one.shift + squared + std::log(-std::expm1(-squared)) + squared);
    }
  }
}

// Whether the sum over the others is its mean, as far as doubles go.
bool NeedleWeight::is_sharp() const {
  return spread_.empty() ||
         0.5 * log_variance_ < log_add(log_mean_, std::log(given_)) + std::log(kSmallestDeviation);
}

// By Chebyshev's inequality: with this probability at least, W is within the error.
Estimate NeedleWeight::usual(double probability) const {
  const double sum = std::exp(log_mean_) + given_, x = 1 / (1 + sum), rounding = kEpsilon * (4 + size_);
  const double deviation = std::exp(0.5 * log_variance_) / std::sqrt(1 - probability);
  return {x, x * (1 - x) * (deviation / sum + rounding) + rounding * x};
}

NeedleWeight::Chances NeedleWeight::at(double x) const {
  if (std::isnan(x)) fail(kFunction, "x", x, "a number");
  constexpr Chances kAlwaysBelow{{1, 0}, {0, 0}}, kAlwaysAbove{{0, 0}, {1, 0}};
  if (x <= 0) return kAlwaysAbove;
  if (x >= 1) return kAlwaysBelow;
  if (x < kSmallestWeight) fail(kFunction, "x", x, "at least 1e-280, or zero");
  // The weight is at most x where the sum over tokens of random scores is at least `level`.
  const double all = (1 - x) / x, doubtful = kEpsilon * (4 + size_) * (all + given_);
  double level = all - given_;
  if (is_sharp()) {
    const double distance = std::exp(log_mean_) - level;
    Chances found = distance >= 0 ? kAlwaysBelow : kAlwaysAbove;
    const double deviation =
        std::exp(0.5 * log_variance_) + doubtful + kEpsilon * (4 + size_) * std::exp(log_mean_);
    found.below.error = found.above.error = spread_.empty() && std::abs(distance) > deviation
                                                ? 0
                                                : std::min(1.0, std::pow(deviation / distance, 2));
    return found;
  }
  // At the edge of what given scores alone decide, the chance of more than the rounding.
  const bool at_edge = std::abs(level) <= doubtful;
  if (at_edge) level += doubtful;
  if (level <= 0) return kAlwaysBelow;
  std::vector<TokenClass> classes = spread_;
  for (TokenClass& one : classes) one.shift -= std::log(level);
  if (log_most_beyond(classes) < std::log(kLeastChance)) return {{0, kLeastChance}, {1, 0}};
  Chances found = Contour(classes, at_edge ? 0 : doubtful / level).chances();
  if (at_edge) {
    found.below = {1, found.above.value + found.above.error};
    found.above = {0, found.below.error};
  }
  return found;
}

Estimate NeedleWeight::quantile(double probability) const {
  if (!(probability > 0 && probability < 1))
    fail(kFunction, "probability", probability, "above 0 and below 1");
  const double rarer = std::min(probability, 1 - probability);
  if (is_sharp()) return usual(1 - rarer);
  // Where the chances do not tell: the weight itself may be known well.
  const auto unresolved = [&](double error) {
    const Estimate known = usual(1 - rarer);
    if (known.error <= kKnown * known.value) return known;
    fail(kFunction, "probability", probability,
         fmt::format("further from 0 and 1: here chances have an error of {:.0e}", error));
  };
  const auto weight = [](double z) {
    return z > 0 ? 1 / (1 + std::exp(-z)) : std::exp(z) / (1 + std::exp(z));
  };
  // The logarithm of the smaller chance over what it is to be: close to straight lines in z.
  const auto excess = [&](double z) {
    const Chances found = at(weight(z));
    return probability <= 0.5 ? std::log(std::max(found.below.value, kLeastChance) / probability)
                              : std::log((1 - probability) / std::max(found.above.value, kLeastChance));
  };
  // A bracket in z = ln(x/(1-x)), outwards from the mean of S.
  constexpr double kLowest = -640, kHighest = 40;
  const double middle = -log_add(log_mean_, std::log(given_));
  double low = std::clamp(middle, kLowest, 30.0), high = low;
  for (double step = 1; excess(low) >= 0 && low > kLowest; step *= 2) low = std::max(kLowest, low - step);
  for (double step = 1; excess(high) < 0 && high < kHighest; step *= 2)
    high = std::min(kHighest, high + step);
  if (excess(low) >= 0) fail(kFunction, "probability", probability, "larger: this quantile is below 1e-277");
  if (excess(high) < 0) return unresolved(at(weight(low)).below.error);
  std::uintmax_t steps = 60;
  const auto enough = [](double a, double b) { return std::abs(b - a) <= 1e-14 * (1 + std::abs(a)); };
  const auto [from, to] = boost::math::tools::toms748_solve(excess, low, high, enough, steps);
  // The error of the chances, over the slope of P(W <= x).
  const double x = weight(to), change = std::max(1e-6, to - from);
  const double rise = (excess(to + change) - excess(to - change)) / (2 * change) * rarer;
  const Chances chances = at(x);
  const double error = probability <= 0.5 ? chances.below.error : chances.above.error;
  if (x < 1 && error > kResolved * rarer) return unresolved(error);
  return {x, x * (1 - x) * (rise > 0 ? error / rise : 1) + x * (to - from) + 4 * kEpsilon * x};
}

}  // namespace largo
