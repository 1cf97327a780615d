#include "exact/score_integrals.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <span>
#include <utility>

#include "numerics/simd_math.hpp"
#include "numerics/wright_omega.hpp"

namespace largo::exact {
namespace {

// Below this depth twice the step is accurate enough.
constexpr double kShallow = 14;
// The step in g: the trapezoidal rule's error is e^{-2π²/step²} for the Gaussian alone.
constexpr double kStepG = 0.6;

// The step in x: the error is about |Γ(k + iω)|/Γ(k) with ω = 2π/step, below 1e-15 for this ω.
double step_in_x(int largest_k) { return 2 * std::numbers::pi / (31.4 + 1.5 * (std::max(largest_k, 3) - 5)); }

// With steps below kTailStep the Gaussian tail beyond x = kGaussianFrom, where e^{-e^x} < 1e-19, is summed
// by a formula.
constexpr double kTailStep = 0.1;
constexpr double kGaussianFrom = 3.8;
// Below this x, e^{-e^x} is one.
constexpr double kLinearBelow = -38;
// The terms of a group of k share a scale; its exponents must stay in the range of a double.
constexpr double kGroupSpan = 500;

void exponentiate(std::span<double> values) { numerics::exp(values, values); }

// Q(g)/n(g), the Gaussian's tail over its density, g > 0.
double mills_ratio(double g) {
  if (g < 12)
    return std::sqrt(std::numbers::pi / 2) * std::erfc(g / std::numbers::sqrt2) * std::exp(0.5 * g * g);
  double sum = 1;
  for (int j = 14; j >= 1; --j) sum = 1 - (2 * j - 1) / (g * g) * sum;
  return sum / g;
}

// step (n(g) + n(g + step) + …) / n(g) by the Euler-Maclaurin formula; relative error 2 (step g / 2π)^10
double gaussian_tail_sum(double g, double step) {
  const double h2 = step * step;
  const double g2 = g * g;
  const double odd = ((g2 - 21) * g2 + 105) * g2 - 105;
  const double series =
      1.0 / 12 - h2 * ((g2 - 3) / 720 - h2 * (((g2 - 10) * g2 + 15) / 30240 - h2 * odd / 1209600));
  return mills_ratio(g) + step / 2 + h2 * g * series;
}

}  // namespace

bool ScoreIntegrals::tilted(double s, double L) { return s * s <= std::max(1.0, 2 * std::log(L)); }

ScoreIntegrals::ScoreIntegrals(double s, double L, std::vector<Block> blocks)
    : s_(s),
      log_s_(std::log(s)),
      log_L_(std::log(L)),
      tilted_(tilted(s, L)),
      kappa_(tilted_ ? 1 : 0),
      blocks_(std::move(blocks)) {
  for (const Block& block : blocks_) {
    // By parts, a block with k = 1 needs integrals up to k = 3.
    largest_k_ = std::max(largest_k_, block.k == 1 && block.g + block.h > 0 ? 3 : block.k);
    degree_ = std::max(degree_, static_cast<std::size_t>(block.g + 2 * block.h));
  }
  step_ = std::min(kStepG, step_in_x(largest_k_) / s);
  moments_.resize(static_cast<std::size_t>(largest_k_ + 1) * (degree_ + 1));
}

// With x = y + s g the maximum solves g = s (k - e^x), that is w + ln w = y + k s² + 2 ln s for w = s² e^x.
// From there the exponent falls by u²/2 - b u + (b/s)(e^{su} - 1).
ScoreIntegrals::Peak ScoreIntegrals::peak(int k) const {
  const double w = numerics::wright_omega(y_ + k * s_ * s_ + 2 * log_s_);
  Peak peak;
  peak.b = w / s_;
  // Two formulas for the same point, each without the cancellation of the other, for small and for large s.
  if (s_ < 1) {
    peak.g = k * s_ - peak.b;
    peak.x = y_ + s_ * peak.g;
  } else {
    peak.x = std::log(w) - 2 * log_s_;
    peak.g = (peak.x - y_) / s_;
  }
  // To the left it falls by at least u²/2, and by at least u²/2 + b |u| - b/s.
  peak.left =
      std::min(std::sqrt(2 * depth_), std::sqrt(peak.b * peak.b + 2 * (depth_ + peak.b / s_)) - peak.b);
  const double q = depth_ * s_ / peak.b;  // e^v - 1 - v reaches q before either bound
  const double v = std::min(std::sqrt(2 * q), std::log1p(q + std::sqrt(2 * q)));
  peak.right = std::min(std::sqrt(2 * depth_), v / s_);
  return peak;
}

// Fills the nodes in [first, last], offsets from the peak, with the integrand relative to its maximum.
void ScoreIntegrals::fill_nodes(const Peak& peak, double first, double last) {
  const double step = current_step_;
  const auto wanted = static_cast<std::size_t>((last - first) / step) + 2;
  const std::size_t count = (wanted + kNodesAtOnce - 1) / kNodesAtOnce * kNodesAtOnce;
  runtime::AlignedVector<double>& powers = powers_[step == step_ ? 0 : 1];
  if (step != step_ && std::exchange(other_step_, step) != step) powers.clear();
  if (powers.size() < count) {
    const std::size_t old = powers.size();
    powers.resize(std::max(count, 2 * old));
    for (std::size_t i = old; i < powers.size(); ++i) powers[i] = s_ * step * static_cast<double>(i);
    exponentiate(std::span(powers).subspan(old));
    growth_.resize(std::max(growth_.size(), powers.size()));
    weight_.resize(growth_.size());
  }
  nodes_ = {count, first, step, peak.b, peak.b / s_, std::exp(s_ * first), powers.data()};
  score_weights(nodes_, weight_.data(), growth_.data());
}

// The sum of n(g) (1 - e^-v), v = e^x, relative to the maximum of n(g) v e^-v, over the nodes of k = 1 and
// beyond them, where 1 - e^-v = 1.
double ScoreIntegrals::sum_complement(const Peak& peak) {
  const auto end = growth_.begin() + std::ptrdiff_t(nodes_.count);
  const auto half = std::size_t(std::lower_bound(growth_.begin(), end, 0.5 / nodes_.rate) - growth_.begin());
  double sum = score_complement(nodes_, weight_.data(), growth_.data(), half);
  if (half == nodes_.count) return sum;

  tail_.resize(nodes_.count - half);
  for (std::size_t i = half; i < nodes_.count; ++i) {
    const double u = nodes_.first + nodes_.step * static_cast<double>(i);
    tail_[i - half] = -u * (peak.g + 0.5 * u) - peak.x + nodes_.rate;
  }
  exponentiate(tail_);
  for (std::size_t i = half; i < nodes_.count; ++i) {
    sum += tail_[i - half] - weight_[i] / (nodes_.rate * growth_[i]);
  }
  const double last = nodes_.first + nodes_.step * static_cast<double>(nodes_.count - 1);
  if (nodes_.step > kTailStep || peak.x + s_ * last < kGaussianFrom) return sum;
  return sum + tail_.back() * (gaussian_tail_sum(peak.g + last, nodes_.step) / nodes_.step - 1);
}

void ScoreIntegrals::at(double y, double depth, Values& values) {
  y_ = y;
  depth_ = depth;
  centre_ = tilted_ ? s_ : -y / s_;
  exponents_ = 0;
  // While φ_0 is closer to 1 than to 0, its distance from 1 is computed, with the nodes of k = 1; otherwise
  // φ_0 itself, with those of k = 0.
  int k = y < 0 ? 1 : 0;
  current_step_ = step_ * (depth < kShallow ? 2 : 1);
  if (k == 0) {
    // For small s and large t the integrand of φ_0 is narrower than the Gaussian.
    const double curvature = 1 + s_ * peak(0).b;
    current_step_ /= std::max(1.0, std::ceil(current_step_ * std::sqrt(curvature) / kStepG - 0.25));
  }
  for (bool first = true; k <= largest_k_; first = false) {
    const Peak base = peak(k);
    k = base.x + s_ * std::sqrt(2 * depth) < kLinearBelow ? gaussian_moments(k, first)
                                                          : summed_moments(k, base, first);
  }
  values.centre = centre_;
  values.exponents = exponents_;
  values.log_phi = log_phi_;
  values.R.resize(blocks_.size());
  for (std::size_t i = 0; i < blocks_.size(); ++i) values.R[i] = integral(blocks_[i]);
}

// The moments of k and of all following k that can share its nodes and its scale; the first group also gives
// log φ_0. Returns the next k.
int ScoreIntegrals::summed_moments(int k, const Peak& base, bool first_of_all) {
  const double step = current_step_;
  double first = -base.left;
  double last = base.right;
  // To the left φ_0 itself falls like the Gaussian: it is cut where only the Gaussian remains.
  const double cut = (kLinearBelow - base.x) / s_;
  const bool is_cut = k == 0 && step < kTailStep && first < cut;
  if (is_cut) first = cut;
  if (first_of_all && k == 1) {
    // To the end of the Gaussian, or to where only the Gaussian remains.
    const double end_of_tail =
        step > kTailStep ? std::sqrt(y_ * y_ / (s_ * s_) + 2 * depth_) : (kGaussianFrom - y_) / s_;
    last = std::max(last, std::min(end_of_tail - base.g, base.b + std::sqrt(base.b * base.b + 2 * depth_)));
  }
  int end = k;
  auto join = [&](int other) {
    const Peak next = peak(other);
    const double joined = std::max(last, next.g - base.g + next.right);
    if ((other - k) * s_ * (joined - first) > kGroupSpan) return false;
    last = joined;
    end = other;
    return true;
  };
  if (end < largest_k_ && !join(largest_k_)) {
    while (end + 1 < largest_k_ && join(end + 1)) {
    }
  }

  fill_nodes(base, first, last);
  const auto powers = static_cast<std::size_t>(end - k + 1);
  double* moments = moments_.data() + static_cast<std::size_t>(k) * (degree_ + 1);
  score_moments(nodes_, weight_.data(), growth_.data(), base.g - centre_, powers, degree_, moments);

  const double log_normal = std::log(step) - 0.5 * std::log(2 * std::numbers::pi);
  const double log_scale = log_normal - 0.5 * base.g * base.g + k * base.x - base.b / s_;
  exponents_ = std::max(exponents_, log_L_ + 0.5 * base.g * base.g + end * std::abs(base.x) + base.b / s_);
  if (first_of_all) {
    const double rest = is_cut ? weight_[0] * (gaussian_tail_sum(-base.g - first, step) / step - 1) : 0;
    log_phi_ = k == 1 ? std::log1p(-sum_complement(base) * std::exp(log_scale))
                      : log_scale + std::log(moments[0] + rest);
  }
  for (int power = k; power <= end; ++power) {
    // In two steps: the scale alone may be below the range of a double when the product is not.
    const double half = std::exp(0.5 * (log_scale + (power - k) * base.x + log_L_ - log_phi_));
    for (std::size_t m = 0; m <= degree_; ++m, ++moments) *moments = *moments * half * half;
  }
  return end + 1;
}

// Where e^{-e^x} is one: L e^{ky + k²s²/2} times the moments of N(ks - c, 1).
int ScoreIntegrals::gaussian_moments(int k, bool first_of_all) {
  if (first_of_all) log_phi_ = -std::exp(y_ + 0.5 * s_ * s_);
  exponents_ = std::max(exponents_, log_L_ + k * std::abs(y_) + 0.5 * k * k * s_ * s_);
  const double scale = std::exp(log_L_ - log_phi_ + k * (y_ + 0.5 * k * s_ * s_));
  const double shift = k * s_ - centre_;
  double* moments = moments_.data() + static_cast<std::size_t>(k) * (degree_ + 1);
  double before = 0;
  double moment = 1;
  for (std::size_t m = 0; m <= degree_; ++m) {
    moments[m] = scale * moment;
    const double next = shift * moment + static_cast<double>(m) * before;
    before = std::exchange(moment, next);
  }
  return k + 1;
}

// G^g H^h with H = G² - κ, from the moments of G: no cancellation to speak of, as the degree is at most four.
double ScoreIntegrals::integral(const Block& block) const {
  auto moment = [this](int k, int m) {
    return moments_[static_cast<std::size_t>(k) * (degree_ + 1) + static_cast<std::size_t>(m)];
  };
  if (tilted_ && block.k == 1 && block.g == 1) return -s_ * moment(2, 0);
  if (tilted_ && block.k == 1 && block.h == 1) return s_ * s_ * (moment(3, 0) - moment(2, 0));
  const int m = block.g + 2 * block.h;
  switch (block.h) {
    case 0: return moment(block.k, m);
    case 1: return moment(block.k, m) - kappa_ * moment(block.k, m - 2);
    default:
      return moment(block.k, m) - 2 * kappa_ * moment(block.k, m - 2) +
             kappa_ * kappa_ * moment(block.k, m - 4);
  }
}

}  // namespace largo::exact
