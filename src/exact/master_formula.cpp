#include "exact/master_formula.hpp"

#include <algorithm>
#include <cmath>
#include <deque>
#include <limits>
#include <map>
#include <tuple>

namespace largo {
namespace {

// The outer rule: first step, and the number of times it may be halved.
constexpr double kStep = 0.4;
constexpr int kHalvings = 5;
// The error of the trapezoidal rule on the line is about squared when its step is halved, so a change of
// this size means an error of the order of the machine's.
constexpr double kEnough = 1e-8;
// Integrands are followed down to e^-kDepth of their maximum, the inner integrals with as much accuracy as
// that leaves, and some to spare as the next node may lie higher.
constexpr double kDepth = 38;
constexpr double kLeastDepth = 6;
constexpr double kMargin = 3;
// Rounding errors of a term of an integrand, in epsilons, beside those of its exponents.
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

// Where the integrands are large: L (1 - φ_0(y)) is about one.
double typical_y(double s, double log_L) {
  const double largest = std::sqrt(2 * log_L);
  return s <= largest ? -log_L - 0.5 * s * s : -s * largest;
}

struct Sums {
  explicit Sums(std::size_t count) : value(count), magnitude(count), uncertainty(count) {}
  std::vector<double> value;
  std::vector<double> magnitude;    ///< of the absolute values, term by term
  std::vector<double> uncertainty;  ///< of their rounding errors, in epsilons
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

std::vector<Estimate> MasterFormula::operator()(double spread, double L) const {
  // Below, the statistics are those of s = 0 to 1e-16.
  const double s = std::max(spread, 1e-8);
  const double log_L = std::log(L);
  const std::size_t count = quantities_.size();
  ScoreIntegrals integrals(s, L, blocks_);
  ScoreIntegrals::Values values;
  Sums sums(count);

  // Adds the integrands at y, to within e^-depth of each, and returns the depth that its neighbours need:
  // what is small against the largest so far need not be accurate. Zero or less when nothing here matters.
  std::vector<double> largest(count);
  auto add = [&](double y, double depth) {
    integrals.at(y, std::max(depth, kLeastDepth), values);
    const double power = std::exp(values.log_power);
    // Relative error of the integrand, in epsilons: that of L log φ_0, and of the exponents of the integrals.
    const double uncertainty = (1 + std::abs(values.log_power)) * (kRounding + 4 * values.exponents);
    double share = 0;
    for (std::size_t q = 0; q < count; ++q) {
      double sum = 0;
      double magnitude = 0;
      for (const Monomial& monomial : quantities_[q]) {
        double term = monomial.coefficient;
        for (int i = 0; i < monomial.centre; ++i) term *= values.centre;
        for (int i = 0; i < monomial.offset; ++i) term *= values.centre - s;
        for (std::size_t i = 0; i < monomial.blocks.size(); ++i) {
          term *= values.R[monomial.blocks[i]] * (1 - static_cast<double>(i) / L);
        }
        sum += term;
        magnitude += std::abs(term);
      }
      magnitude *= power;
      sums.value[q] += sum * power;
      sums.magnitude[q] += magnitude;
      sums.uncertainty[q] += magnitude * uncertainty;
      largest[q] = std::max(largest[q], magnitude);
      if (largest[q] > 0) share = std::max(share, magnitude / largest[q]);
    }
    return std::min(kDepth, kDepth + std::log(share) + kMargin);
  };

  // The integrands are analytic around the real line, the nearest singularities about π/2 away, or, where the
  // weights condense on few tokens, as far as the law of the largest score is wide.
  double step = kStep * std::max(1.0, s / std::max(1.0, std::sqrt(2 * log_L)));
  const double middle = typical_y(s, log_L);
  std::deque<double> depths;
  double left = middle;
  depths.push_front(add(left, kDepth));
  while (depths.front() > 0) depths.push_front(add(left -= step, depths.front()));
  double right = middle;
  while (depths.back() > 0) depths.push_back(add(right += step, depths.back()));

  std::vector<Estimate> results(count);
  Sums coarse = sums;
  double coarse_step = step;
  for (int halving = 0; halving < kHalvings; ++halving) {
    std::deque<double> refined;
    for (std::size_t i = 0; i + 1 < depths.size(); ++i) {
      const double depth = std::max(depths[i], depths[i + 1]);
      refined.push_back(depths[i]);
      refined.push_back(depth);
      add(left + (static_cast<double>(i) + 0.5) * step, depth);
    }
    refined.push_back(depths.back());
    depths = std::move(refined);
    step *= 0.5;
    double worst = 0;
    for (std::size_t q = 0; q < count; ++q) {
      const double fine = sums.value[q] * step;
      const double change = std::abs(fine - coarse.value[q] * coarse_step);
      const double sum_of_sizes = sums.magnitude[q] * step;
      const double relative = sum_of_sizes > 0 ? change / sum_of_sizes : 0;
      worst = std::max(worst, relative);
      results[q] = {fine, sum_of_sizes * relative * std::min(1.0, 100 * relative) +
                              std::numeric_limits<double>::epsilon() * sums.uncertainty[q] * step};
    }
    if (worst < kEnough) break;
    coarse = sums;
    coarse_step = step;
  }
  return results;
}

}  // namespace largo
