#include "exact/oracle.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

#include "exact/oracle_inner.hpp"

namespace largo::oracle {
namespace {

/// Coefficients of a polynomial in x = g − s.
using Polynomial = std::array<int, 5>;

/// S(k, f) = Σ p_i^k f(x_i), or one block of a set partition: the product of its members.
struct Factor {
  int k;
  Polynomial f;
  bool operator==(const Factor&) const = default;
};

Factor operator*(const Factor& a, const Factor& b) {
  Factor out{a.k + b.k, {}};
  for (std::size_t i = 0; i < 5; ++i) {
    for (std::size_t j = 0; j < 5; ++j) {
      if (a.f[i] * b.f[j] != 0) out.f.at(i + j) += a.f[i] * b.f[j];
    }
  }
  return out;
}

constexpr Factor kP1{1, {1}}, kP2{2, {1}}, kP3{3, {1}};           // P_k
constexpr Factor kX1{1, {0, 1}}, kX2{2, {0, 1}}, kX3{3, {0, 1}};  // Σ p^k x
constexpr Factor kQ2{2, {0, 0, 1}};                               // Σ p² x²
constexpr Factor kH1{1, {-1, 0, 1}};                              // Σ p (x² − 1)

/// One set partition: its blocks, as positions in Algebra::blocks.
struct Monomial {
  std::vector<std::size_t> blocks;
  int multiplicity = 1;
  bool operator==(const Monomial&) const = default;
};

struct Term {
  int coefficient;
  std::size_t product;
};

/// Every expectation of a product that the statistics need, expanded once.
class Algebra {
 public:
  std::vector<Factor> blocks;
  std::vector<std::vector<Monomial>> products;
  std::vector<int> total_power;  ///< K of each product
  std::array<std::vector<Term>, OracleMoments::kCount> statistic;
  std::size_t normalisation;

  static const Algebra& instance() {
    static const Algebra algebra;
    return algebra;
  }

 private:
  Algebra() {
    // A − s = X with X = S(1, x);  B − 1 = H − X²;  D = S(2, x²) − 2 X S(2, x) + X² P_2.
    // The derivative of p_i^k in s is k p_i^k (x_i − X).
    statistic = {{
        {t(1, {kP2})},
        {t(1, {kP3})},
        {t(1, {kP2, kP2})},
        {t(1, {kX1})},
        {t(1, {kX1, kX1})},
        {t(1, {kH1}), t(-1, {kX1, kX1})},
        {t(1, {kQ2}), t(-2, {kX1, kX2}), t(1, {kX1, kX1, kP2})},
        {t(1, {kH1, kH1}), t(-2, {kH1, kX1, kX1}), t(1, {kX1, kX1, kX1, kX1})},
        {t(1, {kH1, kP2}), t(-1, {kX1, kX1, kP2})},
        {t(2, {kX2}), t(-2, {kX1, kP2})},
        {t(3, {kX3}), t(-3, {kX1, kP3})},
        {t(4, {kP2, kX2}), t(-4, {kX1, kP2, kP2})},
    }};
    normalisation = t(1, {kP1}).product;
  }

  Term t(int coefficient, const std::vector<Factor>& factors) {
    std::vector<Monomial> sum;
    std::vector<Factor> partition;
    expand(factors, 0, partition, sum);
    const auto found = std::find(products.begin(), products.end(), sum);
    if (found != products.end()) return {coefficient, static_cast<std::size_t>(found - products.begin())};
    products.push_back(sum);
    int K = 0;
    for (const Factor& factor : factors) K += factor.k;
    total_power.push_back(K);
    return {coefficient, products.size() - 1};
  }

  /// Puts factor `next` into each block of the partition so far, and into a new block.
  void expand(const std::vector<Factor>& factors, std::size_t next, std::vector<Factor>& partition,
              std::vector<Monomial>& sum) {
    if (next == factors.size()) return add(partition, sum);
    for (std::size_t b = 0; b < partition.size(); ++b) {
      const Factor before = partition[b];
      partition[b] = before * factors[next];
      expand(factors, next + 1, partition, sum);
      partition[b] = before;
    }
    partition.push_back(factors[next]);
    expand(factors, next + 1, partition, sum);
    partition.pop_back();
  }

  void add(const std::vector<Factor>& partition, std::vector<Monomial>& sum) {
    Monomial monomial;
    for (const Factor& block : partition) {
      auto found = std::find(blocks.begin(), blocks.end(), block);
      if (found == blocks.end()) found = blocks.insert(blocks.end(), block);
      monomial.blocks.push_back(static_cast<std::size_t>(found - blocks.begin()));
    }
    std::sort(monomial.blocks.begin(), monomial.blocks.end());
    for (Monomial& known : sum) {
      if (known.blocks == monomial.blocks) {
        ++known.multiplicity;
        return;
      }
    }
    sum.push_back(monomial);
  }
};

/// Running sums over y of every product, with and without signs.
struct Totals {
  std::vector<Real> sum = std::vector<Real>(Algebra::instance().products.size());
  std::vector<Real> size = std::vector<Real>(Algebra::instance().products.size());
};

}  // namespace

struct Oracle::Node {
  Real log_phi0;
  Real inverse_phi0;
  std::vector<Real> block;  ///< F_B in the order of Algebra::blocks
};

Oracle::Oracle(const Real& s, int refine) : s_(s), refine_(refine) {
  if (!(s > 0 && s <= 30) || refine < 1) throw std::invalid_argument("Oracle: 0 < s <= 30, refine >= 1");
  inner_ = s < 0.25 ? make_narrow_sums(s, refine) : make_wide_sums(s, refine);
}

Oracle::~Oracle() = default;

const Oracle::Node& Oracle::node(std::int64_t y_index) {
  const auto found = nodes_.find(y_index);
  if (found != nodes_.end()) return found->second;
  const InnerValues inner = inner_->at(y_index);
  Node node;
  node.log_phi0 = inner.log_phi0;
  node.inverse_phi0 = exp(-inner.log_phi0);
  for (const Factor& block : Algebra::instance().blocks) {
    Real value = 0;
    for (std::size_t m = 0; m < 5; ++m) {
      if (block.f[m] != 0) value += block.f[m] * inner.moment[static_cast<std::size_t>(block.k)][m];
    }
    // Only P_1 itself has E[f(x) e^{sg}] ≠ 0 among the blocks with k = 1.
    if (block == kP1 && inner.reduced) {
      value += exp(Real(y_index) / (kStepsPerUnit * refine_) + s_ * s_ / 2);
    }
    node.block.push_back(value);
  }
  return nodes_.emplace(y_index, std::move(node)).first->second;
}

/// The y where φ_0^L = 1/e: the integrands rise up to about there, and fall beyond it.
std::int64_t Oracle::decay_index(const Real& L) {
  const std::int64_t steps = std::int64_t{kStepsPerUnit} * refine_;
  std::int64_t low = -1300 * steps;
  std::int64_t high = 100 * steps;
  while (high - low > steps) {
    const std::int64_t middle = low + (high - low) / 2;
    (-L * node(middle).log_phi0 < 1 ? low : high) = middle;
  }
  return high;
}

OracleMoments Oracle::at(const Real& L) {
  if (!(L >= 1 && L <= Real("1e300"))) throw std::invalid_argument("Oracle: 1 <= L <= 1e300");
  const Algebra& algebra = Algebra::instance();
  Totals totals;
  const Real negligible = pow(Real(10), -53 - 4 * (refine_ - 1));
  // Adds the terms at one y, and returns whether all of them are negligible.
  const auto add = [&](std::int64_t y_index) {
    const Node& at_y = node(y_index);
    std::array<Real, 5> weight;  // L (L − 1) … (L − b + 1) φ_0^{L − b}
    weight[0] = exp(L * at_y.log_phi0);
    for (std::size_t b = 1; b < 5; ++b) weight[b] = weight[b - 1] * (L - (b - 1)) * at_y.inverse_phi0;
    bool small = true;
    for (std::size_t p = 0; p < algebra.products.size(); ++p) {
      Real size = 0;
      for (const Monomial& monomial : algebra.products[p]) {
        Real term = weight[monomial.blocks.size()] * monomial.multiplicity;
        for (const std::size_t block : monomial.blocks) term *= at_y.block[block];
        totals.sum[p] += term;
        size += abs(term);
      }
      totals.size[p] += size;
      small = small && size <= negligible * totals.size[p];
    }
    return small;
  };
  // Outwards from the peak until a whole unit of y has been negligible.
  const std::int64_t start = decay_index(L);
  const int unit = kStepsPerUnit * refine_;
  int quiet = 0;
  for (std::int64_t y = start; quiet < unit; --y) quiet = add(y) ? quiet + 1 : 0;
  quiet = 0;
  for (std::int64_t y = start + 1; quiet < unit; ++y) quiet = add(y) ? quiet + 1 : 0;

  const auto gamma_of_K = [&](std::size_t p) {
    Real gamma = unit;  // includes 1/h
    for (int k = 2; k < algebra.total_power[p]; ++k) gamma *= k;
    return gamma;
  };
  std::array<Real, OracleMoments::kCount> value;
  std::array<Real, OracleMoments::kCount> size;
  // E[A] = s + E[X], E[B] = 1 + …; none of the others has a constant part.
  value[3] = size[3] = s_;
  value[5] = size[5] = 1;
  OracleMoments out;
  for (std::size_t q = 0; q < value.size(); ++q) {
    for (const Term& term : algebra.statistic[q]) {
      value[q] += term.coefficient * totals.sum[term.product] / gamma_of_K(term.product);
      size[q] += std::abs(term.coefficient) * totals.size[term.product] / gamma_of_K(term.product);
    }
    if (L != 1) {
      out.digits_lost = std::max(out.digits_lost, log10(Real(size[q] / abs(value[q]))).convert_to<double>());
    }
  }
  std::tie(out.P2, out.P3, out.P2P2, out.mean, out.mse, out.B, out.D, out.B1_squared, out.B1_P2, out.P2_slope,
           out.P3_slope, out.P2P2_slope) = std::tuple_cat(value);
  out.normalisation = totals.sum[algebra.normalisation] / gamma_of_K(algebra.normalisation);
  if (!(abs(out.normalisation - 1) < 1e-50)) {
    throw std::runtime_error("Oracle: E[P_1] = " + out.normalisation.str() + " at s = " + s_.str(6) +
                             ", L = " + L.str(6));
  }
  return out;
}

std::array<Real, OracleMoments::kCount> OracleMoments::values() const {
  return {P2, P3, P2P2, mean, mse, B, D, B1_squared, B1_P2, P2_slope, P3_slope, P2P2_slope};
}

double agreeing_digits(const OracleMoments& a, const OracleMoments& b) {
  const auto va = a.values();
  const auto vb = b.values();
  Real worst = pow(Real(10), -70);
  for (std::size_t q = 0; q < va.size(); ++q) {
    const Real scale = std::max<Real>(abs(va[q]), abs(vb[q]));
    if (scale > 0) worst = std::max(worst, Real(abs(va[q] - vb[q]) / scale));
  }
  return std::max(0.0, -log10(worst).convert_to<double>());
}

OracleMoments closed_form(const Real& s, const Real& L) {
  OracleMoments out;
  if (L == 1) {
    out.P2 = out.P3 = out.P2P2 = 1;
    out.mse = 1 + s * s;
    out.B1_squared = 1;
    out.B1_P2 = -1;
    return out;
  }
  if (s != 0) throw std::invalid_argument("closed_form: s = 0 or L = 1");
  // B L is χ² with L − 1 degrees of freedom.
  out.P2 = 1 / L;
  out.P3 = out.P2P2 = 1 / (L * L);
  out.mse = 1 / L;
  out.B = 1 - 1 / L;
  out.D = (L - 1) / (L * L);
  out.B1_squared = (2 * L - 1) / (L * L);
  out.B1_P2 = -1 / (L * L);
  return out;
}

}  // namespace largo::oracle
