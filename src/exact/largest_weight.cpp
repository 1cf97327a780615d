// E max_i p_i for prompts of several classes. With u_i = t e^{x_i}, and the largest of them as an integral
// over the levels r below it,
//
//   E max p = ∫ E[max u · e^{-Σu}] dy = ∫ Φ(y) ∫_0^∞ {1 - ∏_c (1 - G_c(r)/φ_c)^{n_c}} dr dy,   G_c(r) =
//   E[e^-u; u > r].
//
// The braces are one up to the largest given score, and up to where some class surely has a token above r.
// From there on they are integrated over ln r by Gauss's rule on panels, which are fine where a class needs
// it. G is integrated over the same panels, from each of their nodes, with the matrix of the rule.
#include <algorithm>
#include <array>
#include <boost/math/quadrature/gauss.hpp>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numbers>
#include <span>
#include <vector>

#include "exact/class_node.hpp"
#include "exact/line_rule.hpp"
#include "largo/exact/token_classes.hpp"
#include "numerics/wright_omega.hpp"

namespace largo {
namespace {

constexpr std::size_t kNodes = 16;
// Where the panels of a class end, as shares of its range: finer on the left, where 1 - (1 - G/φ)^n falls.
constexpr double kEnds[] = {0.04, 0.09, 0.15, 0.23, 0.33, 0.46, 0.62, 0.8, 1};
// The widest panels over x: where e^{-e^x} falls, and to the left of that, for e^x.
constexpr double kFallBegins = -4, kWidestInFall = 1.5, kWidest = 6;
// What is left out, as a logarithm.
constexpr double kDepth = 42, kFarBelow = 60;
constexpr double kNothingBeyond = 7;  // n e^{-e^x} is zero beyond, for all n
// There is surely a token above a level if so many are expected there.
constexpr double kSurely = 60;

// Gauss's rule on [-1, 1], and the integrals from each node to 1 of a function known at the nodes.
struct Panel {
  std::array<double, kNodes> at{}, weight{};
  std::array<std::array<double, kNodes>, kNodes> to_end{};

  Panel() {
    using Rule = boost::math::quadrature::gauss<double, kNodes>;
    for (std::size_t i = 0; i < kNodes / 2; ++i) {
      at[kNodes / 2 + i] = Rule::abscissa()[i];
      at[kNodes / 2 - 1 - i] = -Rule::abscissa()[i];
      weight[kNodes / 2 + i] = weight[kNodes / 2 - 1 - i] = Rule::weights()[i];
    }
    // Lagrange's polynomial of node j is Σ_k (k + ½) w_j P_k(x_j) P_k, and (2k + 1) P_k = (P_{k+1} -
    // P_{k-1})'.
    std::array<std::array<double, kNodes + 1>, kNodes> P{};
    for (std::size_t i = 0; i < kNodes; ++i) {
      P[i][0] = 1;
      P[i][1] = at[i];
      for (std::size_t k = 1; k < kNodes; ++k) {
        const auto n = static_cast<double>(k);
        P[i][k + 1] = ((2 * n + 1) * at[i] * P[i][k] - n * P[i][k - 1]) / (n + 1);
      }
    }
    for (std::size_t i = 0; i < kNodes; ++i) {
      for (std::size_t j = 0; j < kNodes; ++j) {
        double sum = 1 - at[i];
        for (std::size_t k = 1; k < kNodes; ++k) sum += P[j][k] * (P[i][k - 1] - P[i][k + 1]);
        to_end[i][j] = weight[j] / 2 * sum;
      }
    }
  }
};

// The scores of one class under e^-u: f(g) = exp(-g²/2 - e^x), x = y + b + s g, relative to its maximum.
class TiltedScores {
 public:
  TiltedScores(const exact::ClassIntegrals& one, double y)
      : count_(one.count()), start_(y + one.shift()), s_(one.spread()) {
    const double w = numerics::wright_omega(start_ + 2 * std::log(s_));
    mode_ = -w / s_;
    log_top_ = log_f(mode_);
    // G/φ is this times the integral of f over x.
    scale_ = std::exp(log_top_ - one.log_phi()) / (std::sqrt(2 * std::numbers::pi) * s_);
    const double log_count = std::log(count_);
    // nG is about n f over its logarithmic slope.
    const auto expected = [&](double g) {
      const double slope = g + s_ * std::exp(start_ + s_ * g);
      return log_f(g) - log_top_ + std::log(count_ * scale_ * s_ / kSurely / std::max(1.0, slope));
    };
    const auto none = [&](double g) { return log_f(g) - log_top_ + kDepth / count_; };
    const auto negligible = [&](double g) {
      return log_f(g) - log_top_ + s_ * (g - mode_) + kDepth + log_count;
    };
    first = start_ + s_ * (expected(mode_) > 0 ? crossing(expected, 1).within : crossing(none, -1).beyond);
    last = std::min(kNothingBeyond, start_ + s_ * crossing(negligible, 1).beyond);
    // f e^x is largest where g = s (1 - e^x).
    const double steepest =
        std::log(numerics::wright_omega(start_ + s_ * s_ + 2 * std::log(s_))) - 2 * std::log(s_);
    log_share =
        steepest + std::min(0.0, log_count + std::log(scale_) + log_f((steepest - start_) / s_) - log_top_);
  }

  double f(double x) const {
    const double g = (x - start_) / s_;
    return std::exp(-0.5 * g * g - std::exp(x) - log_top_);
  }
  double scale() const { return scale_; }
  double count() const { return count_; }

  double first = 0, last = 0;
  double log_share = 0;  ///< a logarithm of what the class adds to the integral over r, from below

 private:
  double log_f(double g) const { return -0.5 * g * g - std::exp(start_ + s_ * g); }

  // The point to one side of the mode where a function that is positive there changes sign, from both sides.
  struct Crossing {
    double within, beyond;
  };
  template <typename Function>
  Crossing crossing(const Function& function, double side) const {
    double low = 0, high = 1;
    while (function(mode_ + side * high) > 0) high *= 2;
    while (high - low > 0.01 * high) {
      const double middle = 0.5 * (low + high);
      (function(mode_ + side * middle) > 0 ? low : high) = middle;
    }
    return {mode_ + side * low, mode_ + side * high};
  }

  double count_, start_, s_, mode_ = 0, log_top_ = 0, scale_ = 0;
};

class LargestIntegrand {
 public:
  explicit LargestIntegrand(std::span<const TokenClass> classes) : node_(classes) {}

  void at(double v, double depth, exact::LineValues& to) {
    to.value[0] = node_.at(v, depth, to) ? node_.weight * mean_largest(1) : 0;
    to.magnitude[0] = to.value[0];
  }

  // The relative change of the inner integral at the middle when its panels are halved.
  double inner_change() {
    exact::LineValues unused;
    node_.at(0, kDepth, unused);
    const double fine = mean_largest(2);
    return std::abs(mean_largest(1) / fine - 1);
  }

 private:
  // ∫_0^∞ {1 - ∏ (1 - G/φ)^n} dr at the node, with each panel cut into `parts`.
  double mean_largest(int parts) {
    double sure = -std::numeric_limits<double>::infinity(), last = sure, share = sure;  // logarithms of r
    scores_.clear();
    for (const exact::ClassIntegrals& one : node_.classes) {
      if (one.spread() == 0) {
        sure = std::max(sure, node_.y + one.shift());
      } else {
        scores_.emplace_back(one, node_.y);
        sure = std::max(sure, scores_.back().first);
        last = std::max(last, scores_.back().last);
        share = std::max(share, scores_.back().log_share);
      }
    }
    // Levels far below what all have in common add nothing.
    sure = std::max(sure, share - kFarBelow);
    double sum = std::exp(sure);
    if (!(last > sure)) return sum;
    ends_ = {sure, last};
    for (const TiltedScores& one : scores_) {
      for (const double part : kEnds) {
        const double x = one.first + part * (one.last - one.first);
        if (x > sure && x < last) ends_.push_back(x);
      }
    }
    std::sort(ends_.begin(), ends_.end());
    double from = last, sum_of_panels = 0;
    tails_.assign(scores_.size(), 0);
    for (std::size_t i = ends_.size() - 1; i-- > 0;) {
      const double to = ends_[i], widest = from > kFallBegins ? kWidestInFall : kWidest;
      const int cuts = parts * static_cast<int>(std::ceil((from - to) / widest));
      for (int k = 0; k < cuts; ++k) {
        const double end = from - (from - to) * k / cuts, begin = from - (from - to) * (k + 1) / cuts;
        sum_of_panels += over_panel(begin, end);
      }
      from = to;
    }
    return sum + sum_of_panels;
  }

  // The part from x = begin to end; tails_ has ∫ f beyond the end, and then beyond the beginning.
  double over_panel(double begin, double end) {
    static const Panel kPanel;
    const double half = 0.5 * (end - begin), middle = 0.5 * (begin + end);
    std::array<double, kNodes> log_none{};
    for (std::size_t c = 0; c < scores_.size(); ++c) {
      const TiltedScores& one = scores_[c];
      if (begin >= one.last) continue;
      std::array<double, kNodes> f{};
      for (std::size_t i = 0; i < kNodes; ++i) f[i] = one.f(middle + half * kPanel.at[i]);
      double all = 0;
      for (std::size_t i = 0; i < kNodes; ++i) {
        double rest = 0;
        for (std::size_t j = 0; j < kNodes; ++j) rest += kPanel.to_end[i][j] * f[j];
        const double G = one.scale() * (tails_[c] + half * rest);
        log_none[i] += one.count() * (G < 1 ? std::log1p(-G) : -std::numeric_limits<double>::infinity());
        all += kPanel.weight[i] * f[i];
      }
      tails_[c] += half * all;
    }
    double sum = 0;
    for (std::size_t i = 0; i < kNodes; ++i) {
      sum -= kPanel.weight[i] * std::exp(middle + half * kPanel.at[i]) * std::expm1(log_none[i]);
    }
    return half * sum;
  }

  exact::ClassNode node_;
  std::vector<TiltedScores> scores_;
  std::vector<double> ends_, tails_;
};

}  // namespace

Estimate mean_largest_weight(std::span<const TokenClass> given) {
  exact::check_classes("mean_largest_weight", given);
  const double shift = exact::ClassVariable(given).middle();
  std::vector<TokenClass> classes(given.begin(), given.end());
  for (TokenClass& one : classes) one.shift += shift;
  Estimate found =
      exact::LineRule(LargestIntegrand(classes), 1, exact::kClassStep).integrals(exact::kClassHalvings)[0];
  constexpr double kInner = 1e-13;  // of Gauss's rule, where halving shows nothing
  found.error += found.value * (kInner + 10 * LargestIntegrand(classes).inner_change());
  return found;
}

}  // namespace largo
