#include "exact/master_formula.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "exact/bulk.hpp"
#include "exact/line_rule.hpp"
#include "numerics/simd_math.hpp"

namespace largo::exact {
namespace {

// The outer rule: first step, and the number of times it may be halved.
constexpr double kStep = 0.3;
constexpr int kHalvings = 5;
// The growth of y beyond all lengths. With 2 some laws need another halving, and 1 takes a fifth more nodes.
constexpr double kTailGrowth = 1.5;
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

// The integrands of all quantities for one s and all lengths.
class MasterFormula::Integrand {
 public:
  Integrand(const MasterFormula& formula, double s, std::span<const LengthNode> lengths)
      : quantities_(formula.quantities_),
        s_(s),
        lengths_(lengths, formula.most_blocks_),
        variable_(s, lengths.front().L, lengths.back().L),
        integrals_(s, lengths.back().L, formula.blocks_) {}

  void at(double v, double depth, LineValues& to) {
    integrals_.at(variable_.y(v), depth, values_);
    lengths_.at(values_.log_phi);
    const double weight = lengths_.power * variable_.slope(v);
    // That of L log φ_0, and of the exponents of the integrals.
    to.uncertainty = lengths_.sensitivity * (kRounding + 6 * values_.exponents);
    for (std::size_t q = 0; q < quantities_.size(); ++q) {
      double sum = 0;
      double magnitude = 0;
      for (const Monomial& monomial : quantities_[q]) {
        const double term = evaluate(monomial);
        sum += term * lengths_.value[monomial.blocks.size()];
        magnitude += std::abs(term) * lengths_.magnitude[monomial.blocks.size()];
      }
      to.value[q] = sum * weight;
      to.magnitude[q] = magnitude * weight;
    }
  }

 private:
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
};

std::vector<Estimate> MasterFormula::operator()(double s, double L) const {
  const LengthNode one{L, 1};
  return (*this)(s, std::span(&one, 1));
}

std::vector<Estimate> MasterFormula::operator()(double spread, std::span<const LengthNode> lengths) const {
  // Below 1e-8 the statistics are those of s = 0 to 1e-16.
  const double s = std::max(spread, 1e-8);
  return LineRule(Integrand(*this, s, lengths), quantities_.size(), kStep).integrals(kHalvings);
}

}  // namespace largo::exact
