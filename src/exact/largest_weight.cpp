// E max_i p_i for prompts of several classes. With u_i = t e^{x_i}, and the largest of them as an integral
// over the levels r below it,
//
//   E max p = ∫ E[max u · e^{-Σu}] dy = ∫ Φ(y) ∫_0^∞ {1 - ∏_c (1 - G_c(r)/φ_c)^{n_c}} dr dy,   G_c(r) =
//   E[e^-u; u > r].
//
// The braces are one up to the largest given score, and up to where some class surely has a token above r.
// From there on they are integrated over ln r by Gauss's rule on panels, which are fine where a class needs
// it. G is integrated over the same panels, from each of their nodes, with the matrix of the rule.
//
// For the k heaviest tokens the braces become E min(k, N(r)), where N(r) is the number of tokens above r:
// under the integral a sum of binomial variables, of n_c tokens with probability G_c/φ_c each.
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
#include "largo/exact/heaviest_tokens.hpp"
#include "largo/exact/token_classes.hpp"
#include "largo/runtime/check.hpp"
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
// For k tokens, kSurely and this for each.
constexpr double kSurelyEach = 4;
// Below this expectation of N, min(k, N) is summed over the few values that N may have.
constexpr double kFew = 1;
constexpr std::size_t kFewTerms = 32;

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
  TiltedScores(const exact::ClassIntegrals& one, double y, double heaviest)
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
      const double surely = heaviest > 1 ? kSurely + kSurelyEach * heaviest : kSurely;
      return log_f(g) - log_top_ + std::log(count_ * scale_ * s_ / surely / std::max(1.0, slope));
    };
    // For several tokens: all of the class are above.
    const auto all_above = [&](double g) { return log_f(g) - log_top_ + kDepth + log_count; };
    const auto none = [&](double g) { return log_f(g) - log_top_ + kDepth / count_; };
    const auto negligible = [&](double g) {
      return log_f(g) - log_top_ + s_ * (g - mode_) + kDepth + log_count;
    };
    enough = expected(mode_) > 0 || count_ >= heaviest;
    if (expected(mode_) > 0) {
      first = start_ + s_ * crossing(expected, 1).within;
    } else {
      first = start_ + s_ * (heaviest > 1 ? crossing(all_above, -1) : crossing(none, -1)).beyond;
    }
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
  bool enough = true;    ///< up to `first` there are surely as many tokens of the class as are asked for
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

// P(N = j) for j < size, where N is binomial.
std::vector<double> binomial(double n, double p, std::size_t size) {
  std::vector<double> found(size, 0);
  constexpr double kCounted = 2 * kMostHeaviest;
  if (p >= 0.5 && n <= kCounted) {  // by those that are not among them, of which there are few
    double term = std::pow(p, n);
    const double odds = (1 - p) / p;
    for (double missing = 0; missing <= n; ++missing) {
      const auto j = static_cast<std::size_t>(n - missing);
      if (j < size) found[j] = term;
      term *= odds * (n - missing) / (missing + 1);
    }
    return found;
  }
  if (!(p < 1)) return found;
  double term = std::exp(n * std::log1p(-p));
  const double odds = p / (1 - p);
  for (std::size_t j = 0; j < size; ++j) {
    found[j] = term;
    const auto k = static_cast<double>(j);
    term *= odds * std::max(0.0, n - k) / (k + 1);
  }
  return found;
}

class LargestIntegrand {
 public:
  /// The `heaviest` largest weights.
  LargestIntegrand(std::span<const TokenClass> classes, double heaviest)
      : node_(classes), heaviest_(heaviest) {}

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
  // ∫_0^∞ E min(k, N(r)) dr at the node, with each panel cut into `parts`.
  double mean_largest(int parts) {
    double sure = -std::numeric_limits<double>::infinity(), last = sure, share = sure;  // logarithms of r
    scores_.clear();
    given_.clear();
    double all = std::numeric_limits<double>::infinity(), tokens = 0;  // all tokens are above this level
    for (const exact::ClassIntegrals& one : node_.classes) {
      tokens += one.count();
      double first = node_.y + one.shift();
      bool enough = one.count() >= heaviest_;
      if (one.spread() == 0) {
        given_.push_back({first, one.count()});
        if (heaviest_ > 1) last = std::max(last, first);
      } else {
        scores_.emplace_back(one, node_.y, heaviest_);
        first = scores_.back().first;
        enough = scores_.back().enough;
        last = std::max(last, scores_.back().last);
        share = std::max(share, scores_.back().log_share);
      }
      if (enough) sure = std::max(sure, first);
      all = std::min(all, first);
    }
    sure = std::max(sure, all);
    // Levels far below what all have in common add nothing.
    sure = std::max(sure, share - kFarBelow);
    double sum = std::min(heaviest_, tokens) * std::exp(sure);
    if (!(last > sure)) return sum;
    ends_ = {sure, last};
    if (heaviest_ > 1) {
      for (const Given& one : given_) {
        if (one.level > sure && one.level < last) ends_.push_back(one.level);
      }
    }
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
    chances_.assign(heaviest_ > 1 ? scores_.size() : 0, {});
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
        if (heaviest_ > 1) chances_[c][i] = std::min(1.0, G);
        log_none[i] += one.count() * (G < 1 ? std::log1p(-G) : -std::numeric_limits<double>::infinity());
        all += kPanel.weight[i] * f[i];
      }
      tails_[c] += half * all;
    }
    double sum = 0;
    for (std::size_t i = 0; i < kNodes; ++i) {
      const double x = middle + half * kPanel.at[i];
      sum +=
          kPanel.weight[i] * std::exp(x) * (heaviest_ > 1 ? mean_above(i, middle) : -std::expm1(log_none[i]));
    }
    return half * sum;
  }

  // E min(k, N) at node i of a panel, by the chances of the classes.
  double mean_above(std::size_t i, double level) const {
    double given = 0, expected = 0;
    for (const Given& one : given_) given += one.level > level ? one.count : 0;
    if (given >= heaviest_) return heaviest_;
    const double room = heaviest_ - given;
    for (std::size_t c = 0; c < scores_.size(); ++c) expected += scores_[c].count() * chances_[c][i];
    const bool few = expected < kFew;
    const std::size_t size = few ? kFewTerms : static_cast<std::size_t>(std::ceil(room));
    std::vector<double> law(size, 0);
    law[0] = 1;
    for (std::size_t c = 0; c < scores_.size(); ++c) {
      const std::vector<double> one = binomial(scores_[c].count(), chances_[c][i], size);
      for (std::size_t j = size; j-- > 0;) {
        double all = 0;
        for (std::size_t k = 0; k <= j; ++k) all += law[j - k] * one[k];
        law[j] = all;
      }
    }
    // Few: the terms as they are, so that a small chance keeps its digits; otherwise those that are missing.
    double mean = few ? 0 : room;
    for (std::size_t j = 0; j < size; ++j) {
      const auto N = static_cast<double>(j);
      mean += few ? std::min(room, N) * law[j] : -std::max(0.0, room - N) * law[j];
    }
    return given + mean;
  }

  struct Given {
    double level, count;  // a logarithm of r
  };

  exact::ClassNode node_;
  double heaviest_;
  std::vector<TiltedScores> scores_;
  std::vector<Given> given_;
  std::vector<std::array<double, kNodes>> chances_;  // G/φ of the classes at the nodes of a panel
  std::vector<double> ends_, tails_;
};

}  // namespace

Estimate heaviest_mass(std::span<const TokenClass> given, int count) {
  constexpr auto kFunction = "heaviest_mass";
  exact::check_classes(kFunction, given);
  if (count < 1 || count > kMostHeaviest)
    fail(kFunction, "number of the heaviest tokens", count, "between 1 and 64");
  constexpr double kWhole = 1000;
  for (const TokenClass& one : given) {
    if (count > 1 && one.count < kWhole && one.count != std::floor(one.count))
      fail(kFunction, "count", one.count, "a whole number below 1000");
  }
  const double shift = exact::ClassVariable(given).middle();
  std::vector<TokenClass> classes(given.begin(), given.end());
  for (TokenClass& one : classes) one.shift += shift;
  Estimate found = exact::LineRule(LargestIntegrand(classes, count), 1, exact::kClassStep)
                       .integrals(exact::kClassHalvings)[0];
  constexpr double kInner = 1e-13;  // of Gauss's rule, where halving shows nothing
  found.error += found.value * (kInner + 10 * LargestIntegrand(classes, count).inner_change());
  return found;
}

Estimate mean_largest_weight(std::span<const TokenClass> classes) { return heaviest_mass(classes, 1); }

}  // namespace largo
