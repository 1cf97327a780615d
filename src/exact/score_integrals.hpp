// One-dimensional integrals over the score of a token. For i.i.d. scores s g, g ~ N(0,1), with x = y + s g
// (y = ln t is the variable of the master formula, see master_formula.hpp),
//
//   φ_0(y) = E e^{-e^x},     R(k,a,b)(y) = L E[e^{kx} e^{-e^x} G^a H^b] / φ_0,     G = g - c,  H = G² - κ.
//
// There are two ways to centre, each accurate where the other cancels:
//   tilted   c = s, κ = 1: G and H have mean zero under the tilt e^{sg}, and the integrals with k = 1 come
//            from those with k = 2, 3 by parts: R(1,1,0) = -s R(2,0,0), R(1,0,1) = s² (R(3,0,0) - R(2,0,0)).
//            So they keep their relative accuracy when they are tiny, as they are for long prompts.
//   local    c = -y/s, so that G = x/s, κ = 0: for s > √(2 ln L) (and s > 1), where a few of the largest
//            tokens carry the weight and lie close to each other. Only for differences of scores, for which
//            the centre does not matter.
//
// Method: the trapezoidal rule in g around the maximum of each integrand, which is log-concave with a known
// maximum (Wright's omega function) and known decay. The integrands are analytic in |Im g| < π/(2s), so the
// rule converges exponentially in 1/step. One exponential per node serves a whole group of k.
#pragma once

#include <compare>
#include <cstddef>
#include <vector>

#include "exact/score_kernel.hpp"
#include "runtime/aligned_vector.hpp"

namespace largo::exact {

/// The factor Σ_i p_i^k G_i^g H_i^h of a product, or the block that several of them make when they fall on
/// the same token.
struct Block {
  int k = 0;
  int g = 0;
  int h = 0;
  friend auto operator<=>(const Block&, const Block&) = default;
};

class ScoreIntegrals {
 public:
  /// Domain: s > 0, L >= 1, k >= 1. Blocks with k = 1 may have g + h <= 1.
  ScoreIntegrals(double s, double L, std::vector<Block> blocks);

  static bool tilted(double s, double L);

  struct Values {
    double log_phi = 0;     ///< log φ_0
    double centre = 0;      ///< c
    double exponents = 0;   ///< size of the exponents in R, whose rounding is its relative error
    std::vector<double> R;  ///< in the order of the blocks
  };
  /// Relative errors are of the order of e^-depth, at best that of rounding (depth 38).
  void at(double y, double depth, Values& values);

 private:
  /// The maximum of -g²/2 + k x - e^x lies at g, x, where b = s e^x = ks - g.
  struct Peak {
    double g, x, b;
    double left, right;  ///< distances in g at which the integrand has fallen to e^-depth
  };
  Peak peak(int k) const;
  int summed_moments(int k, const Peak& base, bool first_of_all);
  void fill_nodes(const Peak& peak, double first, double last);
  double sum_complement(const Peak& peak);
  int gaussian_moments(int k, bool first_of_all);
  double integral(const Block& block) const;

  double s_, log_s_, log_L_;
  double step_ = 0;
  bool tilted_;
  double centre_ = 0, kappa_;
  std::vector<Block> blocks_;
  int largest_k_ = 1;
  std::size_t degree_ = 0;       ///< of the polynomials in G
  std::vector<double> moments_;  ///< L E[e^{kx} e^{-e^x} G^m]/φ_0 as [k][m]
  KernelNodes nodes_;            ///< of the current group
  double y_ = 0, depth_ = 0;     ///< of the current call, like the members below
  double log_phi_ = 0, exponents_ = 0;
  double current_step_ = 0;  ///< the usual one or, where more or less accuracy is needed, another
  double other_step_ = 0;
  runtime::AlignedVector<double> powers_[2];        ///< e^{s step i}, for the usual step and the other
  runtime::AlignedVector<double> growth_, weight_;  ///< per node: e^{su}, the integrand
  std::vector<double> tail_;                        ///< the Gaussian, at nodes with e^x > 1/2
};

}  // namespace largo::exact
