#include "exact/master_formula.hpp"

#include <algorithm>
#include <cmath>
#include <deque>
#include <limits>
#include <map>
#include <tuple>

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

// The outer variable: y = middle + width (v + 1 - e^-v). In y the integrands fall like those of a Gumbel law,
// doubly exponentially to the right but like e^{Ky} to the left; in v they fall doubly exponentially on both
// sides, which takes only a third of the nodes.
struct OuterVariable {
  OuterVariable(double s, double log_L) {
    // The integrands are large where L (1 - φ_0(y)) is about one. Their width is about one or, where the
    // weights condense on few tokens, that of the law of the largest score.
    const double largest = std::sqrt(2 * log_L);
    middle = s <= largest ? -log_L - 0.5 * s * s : -s * largest;
    width = std::max(1.0, s / std::max(1.0, largest));
  }
  double y(double v) const { return middle + width * (v - std::expm1(-v)); }
  double slope(double v) const { return width * (1 + std::exp(-v)); }

  double middle, width;
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

// The trapezoidal sums of all quantities for one (s, L), refined by halving the step.
class MasterFormula::Rule {
 public:
  Rule(const MasterFormula& formula, double s, double L)
      : quantities_(formula.quantities_),
        s_(s),
        L_(L),
        variable_(s, std::log(L)),
        integrals_(s, L, formula.blocks_),
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
    const double weight = std::exp(values_.log_power) * variable_.slope(v);
    // Relative error of the integrand, in epsilons: that of L log φ_0, and of the exponents of the integrals.
    const double uncertainty = (1 + std::abs(values_.log_power)) * (kRounding + 6 * values_.exponents);
    double share = 0;
    for (std::size_t q = 0; q < quantities_.size(); ++q) {
      double sum = 0;
      double magnitude = 0;
      for (const Monomial& monomial : quantities_[q]) {
        const double term = evaluate(monomial);
        sum += term;
        magnitude += std::abs(term);
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
      term *= values_.R[monomial.blocks[i]] * ((L_ - static_cast<double>(i)) / L_);
    }
    return term;
  }

  const std::vector<std::vector<Monomial>>& quantities_;
  double s_, L_;
  OuterVariable variable_;
  ScoreIntegrals integrals_;
  ScoreIntegrals::Values values_;
  std::vector<double> largest_;  ///< magnitude of the integrand of each quantity
  Sums sums_, coarse_;
  double first_ = 0, step_ = kStep;
  std::deque<double> depths_;  ///< of the nodes, from first_ on
};

std::vector<Estimate> MasterFormula::operator()(double spread, double L) const {
  // Below 1e-8 the statistics are those of s = 0 to 1e-16.
  const double s = std::max(spread, 1e-8);
  std::vector<Estimate> results(quantities_.size());
  Rule rule(*this, s, L);
  for (int halving = 0; halving < kHalvings; ++halving) {
    rule.halve();
    if (rule.estimate(results) < kEnough) break;
  }
  return results;
}

}  // namespace largo::exact
