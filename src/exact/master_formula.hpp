// Expectations of products of softmax sums over L i.i.d. Gaussian scores, by the master formula: with the
// factors S_a = Σ_i p_i^{k_a} f_a(g_i), K = Σ k_a, and R the integrals of score_integrals.hpp,
//
//   E[∏_a S_a] = 1/Γ(K) ∫ dy φ_0(y)^L Σ_{set partitions π} (1 - 1/L)…(1 - (|π|-1)/L) ∏_{B in π} R_B(y).
//
// It holds because 1/(Σ_j e^{s g_j})^K = 1/Γ(K) ∫ t^{K-1} e^{-t Σ_j e^{s g_j}} dt factorises over the tokens;
// factors of one block of the partition fall on the same token. See docs/moments.md.
//
// The expensive part, φ_0 and R/L, does not depend on L. So averages over lengths are taken under the
// integral.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "exact/score_integrals.hpp"
#include "largo/exact/length_node.hpp"
#include "largo/numerics/estimate.hpp"

namespace largo::exact {

/// coefficient · c^centre · (c - s)^offset · ∏ factors, with c the centre of the scores, which may depend on
/// y.
struct Product {
  double coefficient = 1;
  std::vector<Block> factors;
  int centre = 0;
  int offset = 0;
};

/// A quantity is the expectation of a sum of products.
using Quantity = std::vector<Product>;

class MasterFormula {
 public:
  explicit MasterFormula(const std::vector<Quantity>& quantities);

  /// Domain: s > 0, L >= 1, both finite. The error estimate is that of the outer rule, from halving its step,
  /// plus that of rounding, from the integral of the absolute values.
  std::vector<Estimate> operator()(double s, double L) const;
  /// The sums over lengths, each times its weight. Domain: lengths in increasing order, weights positive.
  /// Cost: that of the longest length, times about 1 + ln(longest/shortest)/5, since the integrands are
  /// wider.
  std::vector<Estimate> operator()(double s, std::span<const LengthNode> lengths) const;

 private:
  class Integrand;
  struct Monomial {
    double coefficient;  ///< includes the multiplicity and 1/Γ(K)
    int centre, offset;
    std::vector<std::size_t> blocks;  ///< indices into R
  };
  std::vector<Block> blocks_;
  std::vector<std::vector<Monomial>> quantities_;
  std::size_t most_blocks_ = 0;  ///< of a monomial
};

}  // namespace largo::exact
