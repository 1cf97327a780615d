#include "exact/master_formula.hpp"

#include <algorithm>
#include <cmath>
#include <deque>
#include <limits>
#include <map>
#include <tuple>

#include "numerics/simd_math.hpp"

namespace largo::exact {
namespace {

// The outer rule: first step, and the number of times it may be halved.
constexpr double kStep = 0.3;
constexpr int kHalvings = 5;
// The error of the trapezoidal rule on the line is about squared when its step is halved, so a change of this
// size means an error of the order of the machine epsilon.
constexpr double kEnough = 1e-8;
// Integrands are followed down to e^-kDepth of their maximum. The inner integrals get the accuracy that this
// requires, and some to spare, as the next node may lie higher.
constexpr double kDepth = 38;
constexpr double kLeastDepth = 6;
constexpr double kMargin = 3;
// The growth of y beyond all lengths. With 2 some laws need another halving, and 1 takes a fifth more nodes.
constexpr double kTailGrowth = 1.5;
// Smaller quantities have too few digits to converge.
constexpr double kSmallestFollowed = 1e-290;
// Rounding errors of a term of an integrand, in epsilons, besides those of its exponents.
constexpr double kRounding = 32;

// Calls visit(blocks) for every way to merge the factors into blocks.
template <typename Visit>
void for_each_partition(const std::vector<Block>& factors, std::size_t next, std::vector<Block>& blocks,
                        const Visit& visit) {
  if (next == factors.size()) return visit(blocks);
  const Block& factor = factors[next];
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const Block before = blocks[i];
    blocks[i] = {before.k + factor.k, before.g + factor.g, before.h + factor.h};
    for_each_partition(factors, next + 1, blocks, visit);
    blocks[i] = before;
  }
  blocks.push_back(factor);
  for_each_partition(factors, next + 1, blocks, visit);
  blocks.pop_back();
}

// Where the integrands of one length are large: where L (1 - φ_0(y)) is about one. Their width is about one
// or, where the weights condense on few tokens, that of the law of the largest score.
struct Bulk {
  Bulk(double s, double L) {
    const double log_L = std::log(L);
    const double largest = std::sqrt(2 * log_L);
    middle = s <= largest ? -log_L - 0.5 * s * s : -s * largest;
    spread = s / std::max(1.0, largest);
    width = std::max(1.0, spread);
  }
  double middle, spread, width;
};

// The outer variable: y = middle + width (v + 1 - e^-v). In y the integrands fall like those of a Gumbel law,
// doubly exponentially to the right but like e^{Ky} to the left; in v they fall doubly exponentially on both
// sides, which takes only a third of the nodes.
//
// Of several lengths, the longest is the narrowest and lies on the left. To the right of the bulk of the
// shortest, from v = turn on, only the tail of its largest score is left, which needs fewer nodes: there y
// grows by kTailGrowth spreads of that score.
class OuterVariable {
 public:
  OuterVariable(double s, double shortest, double longest) : bulk_(s, longest) {
    if (shortest == longest) return;
    const Bulk last(s, shortest);
    growth_ = std::max(0.0, kTailGrowth * last.spread - bulk_.width);
    turn_ = (last.middle - bulk_.middle) / bulk_.width - 1;
  }
  double y(double v) const {
    const double y = bulk_.middle + bulk_.width * (v - std::expm1(-v));
    return growth_ == 0 ? y : y + growth_ * std::log1p(std::exp(v - turn_));
  }
  double slope(double v) const {
    const double slope = bulk_.width * (1 + std::exp(-v));
    return growth_ == 0 ? slope : slope + growth_ / (1 + std::exp(turn_ - v));
  }

 private:
  Bulk bulk_;
  double growth_ = 0, turn_ = 0;
};

// The weights of partitions into m blocks at one y. The integrals R have the longest length L as a factor, so
//
//   value[m] = Σ_n weight_n φ_0^{L_n} ∏_{i<m} (L_n - i)/L.
//
// Of a single length with weight one, the factors are kept apart: φ_0^L in `power`, (L - i)/L in `ratio`.
class LengthWeights {
 public:
  LengthWeights(std::span<const LengthNode> lengths, std::size_t most_blocks)
      : value(most_blocks + 1, 1),
        magnitude(most_blocks + 1, 1),
        ratio(most_blocks, 1),
        lengths_(lengths),
        is_single_(lengths.size() == 1 && lengths[0].weight == 1),
        exponents_(lengths.size()),
        powers_(lengths.size()) {
    const double L = lengths.back().L;
    const auto falling = [&](double length, std::size_t i) { return (length - static_cast<double>(i)) / L; };
    for (std::size_t i = 0; is_single_ && i < most_blocks; ++i) ratio[i] = falling(L, i);
    for (const LengthNode& node : lengths) {
      factors_.push_back(node.weight);
      for (std::size_t i = 0; i < most_blocks; ++i) factors_.push_back(factors_.back() * falling(node.L, i));
    }
  }

  void at(double log_phi) {
    for (std::size_t n = 0; n < lengths_.size(); ++n) exponents_[n] = lengths_[n].L * log_phi;
    if (is_single_) {
      power = std::exp(exponents_[0]);
      sensitivity = 1 + std::abs(exponents_[0]);
      return;
    }
    numerics::exp(exponents_, powers_);
    sensitivity = 1;
    for (std::size_t m = 0; m < value.size(); ++m) {
      value[m] = magnitude[m] = 0;
      double moved = 0;
      for (std::size_t n = 0; n < lengths_.size(); ++n) {
        const double term = factors_[n * value.size() + m] * powers_[n];
        value[m] += term;
        magnitude[m] += std::abs(term);
        moved += std::abs(term * exponents_[n]);
      }
      if (magnitude[m] > 0) sensitivity = std::max(sensitivity, 1 + moved / magnitude[m]);
    }
  }

  double power = 1;
  std::vector<double> value;
  std::vector<double> magnitude;  ///< the sum of the absolute values
  std::vector<double> ratio;
  double sensitivity = 1;  ///< relative change of the weights over that of log φ_0, plus one

 private:
  std::span<const LengthNode> lengths_;
  bool is_single_;
  std::vector<double> factors_;  ///< weight_n ∏_{i<m} (L_n - i)/L as [n][m]
  std::vector<double> exponents_, powers_;
};

struct Sums {
  explicit Sums(std::size_t count) : value(count), magnitude(count), uncertainty(count) {}
  std::vector<double> value;
  std::vector<double> magnitude;    ///< sum of the absolute values, term by term
  std::vector<double> uncertainty;  ///< sum of their rounding errors, in epsilons
};

}  // namespace

MasterFormula::MasterFormula(const std::vector<Quantity>& quantities) {
  std::map<Block, std::size_t> index;
  for (const Quantity& quantity : quantities) {
    std::map<std::tuple<int, int, std::vector<std::size_t>>, double> monomials;
    for (const Product& product : quantity) {
      int K = 0;
      for (const Block& factor : product.factors) K += factor.k;
      const double coefficient = product.coefficient / std::tgamma(K);
      std::vector<Block> blocks;
      for_each_partition(product.factors, 0, blocks, [&](const std::vector<Block>& merged) {
        std::vector<std::size_t> slots;
        for (const Block& block : merged) {
          const auto [at, is_new] = index.try_emplace(block, blocks_.size());
          if (is_new) blocks_.push_back(block);
          slots.push_back(at->second);
        }
        most_blocks_ = std::max(most_blocks_, slots.size());
        std::sort(slots.begin(), slots.end());
        monomials[{product.centre, product.offset, slots}] += coefficient;
      });
    }
    auto& list = quantities_.emplace_back();
    for (const auto& [key, coefficient] : monomials) {
      const auto& [centre, offset, slots] = key;
      if (coefficient != 0) list.push_back({coefficient, centre, offset, slots});
    }
  }
}

// The trapezoidal sums of all quantities for one s and all lengths, refined by halving the step.
class MasterFormula::Rule {
 public:
  Rule(const MasterFormula& formula, double s, std::span<const LengthNode> lengths)
      : quantities_(formula.quantities_),
        s_(s),
        lengths_(lengths, formula.most_blocks_),
        variable_(s, lengths.front().L, lengths.back().L),
        integrals_(s, lengths.back().L, formula.blocks_),
        largest_(quantities_.size()),
        sums_(quantities_.size()),
        coarse_(sums_) {
    // Outwards from the middle until the integrands no longer matter.
    depths_.push_front(add(0, kDepth));
    while (depths_.front() > 0) depths_.push_front(add(first_ -= step_, depths_.front()));
    for (double last = 0; depths_.back() > 0;) depths_.push_back(add(last += step_, depths_.back()));
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

  /// Sets the estimates from the last two sums and returns the largest relative change.
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

 private:
  // Adds the integrands at v, each to within e^-depth, and returns the depth that the neighbouring nodes
  // need: what is small compared with the largest so far need not be accurate. A node where nothing matters
  // gives zero or less.
  double add(double v, double depth) {
    integrals_.at(variable_.y(v), std::max(depth, kLeastDepth), values_);
    lengths_.at(values_.log_phi);
    const double weight = lengths_.power * variable_.slope(v);
    // Relative error of the integrand, in epsilons: that of L log φ_0, and of the exponents of the integrals.
    const double uncertainty = lengths_.sensitivity * (kRounding + 6 * values_.exponents);
    double share = 0;
    for (std::size_t q = 0; q < quantities_.size(); ++q) {
      double sum = 0;
      double magnitude = 0;
      for (const Monomial& monomial : quantities_[q]) {
        const double term = evaluate(monomial);
        sum += term * lengths_.value[monomial.blocks.size()];
        magnitude += std::abs(term) * lengths_.magnitude[monomial.blocks.size()];
      }
      magnitude *= weight;
      sums_.value[q] += sum * weight;
      sums_.magnitude[q] += magnitude;
      sums_.uncertainty[q] += magnitude * uncertainty;
      largest_[q] = std::max(largest_[q], magnitude);
      if (largest_[q] > 0) share = std::max(share, magnitude / largest_[q]);
    }
    return std::min(kDepth, kDepth + std::log(share) + kMargin);
  }

  double evaluate(const Monomial& monomial) const {
    double term = monomial.coefficient;
    for (int i = 0; i < monomial.centre; ++i) term *= values_.centre;
    for (int i = 0; i < monomial.offset; ++i) term *= values_.centre - s_;
    for (std::size_t i = 0; i < monomial.blocks.size(); ++i) {
      term *= values_.R[monomial.blocks[i]] * lengths_.ratio[i];
    }
    return term;
  }

  const std::vector<std::vector<Monomial>>& quantities_;
  double s_;
  LengthWeights lengths_;
  OuterVariable variable_;
  ScoreIntegrals integrals_;
  ScoreIntegrals::Values values_;
  std::vector<double> largest_;  ///< magnitude of the integrand of each quantity
  Sums sums_, coarse_;
  double first_ = 0, step_ = kStep;
  std::deque<double> depths_;  ///< of the nodes, from first_ on
};

std::vector<Estimate> MasterFormula::operator()(double s, double L) const {
  const LengthNode one{L, 1};
  return (*this)(s, std::span(&one, 1));
}

std::vector<Estimate> MasterFormula::operator()(double spread, std::span<const LengthNode> lengths) const {
  // Below 1e-8 the statistics are those of s = 0 to 1e-16.
  const double s = std::max(spread, 1e-8);
  std::vector<Estimate> results(quantities_.size());
  Rule rule(*this, s, lengths);
  for (int halving = 0; halving < kHalvings; ++halving) {
    rule.halve();
    if (rule.estimate(results) < kEnough) break;
  }
  return results;
}

}  // namespace largo::exact
