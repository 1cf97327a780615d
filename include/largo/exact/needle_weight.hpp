// How the weight of one token of a given score is distributed, over prompts whose other tokens are of several
// classes (token_classes.hpp): not only its mean, but how often a needle keeps half of the weight.
//
// A needle of score a has the weight W = e^a/(e^a + S), where S = Σ_j e^{x_j} is the sum over the others. So
//
//   P(W <= x) = P(S >= e^a (1/x - 1)),
//
// and the law of S has the Laplace transform Φ(t) = ∏_c φ_c(t)^{n_c}, which is inverted along a contour
// around the negative axis.
//
//   const NeedleWeight needle({{1e5, 0, 3}}, 15);         // a crowd, and one token of score 15
//   needle.at(0.1).below.value                            // the chance that it has at most 10 %
//   needle.quantile(0.5).value                            // its median weight
//
// docs/token-classes.md has the formulas.
#pragma once

#include <limits>
#include <vector>

#include "largo/exact/token_classes.hpp"
#include "largo/numerics/estimate.hpp"

namespace largo {

inline constexpr double kLargestNeedleSpread = 50;

class NeedleWeight {
 public:
  /// Domain: the classes of the other tokens as for class_moments(), with spreads up to
  /// kLargestNeedleSpread; |score| up to kLargestShift; otherwise InputError.
  NeedleWeight(std::vector<TokenClass> others, double score);

  struct Chances {
    Estimate below;  ///< P(W <= x)
    Estimate above;  ///< P(W > x)
  };
  /// Domain: any x; 0 and less are never reached, and 1 is never passed. The error is about 1e-12 for up to
  /// 1e6 tokens of a class, and then grows with the square root of their number, as W itself depends so
  /// sharply on x. A small `above` has its digits; a small `below` has an absolute error only, unless the
  /// needle's usual weight is far above x. Each comes with its estimate. Counts
  /// below 1000 must be whole. Cost: 1 to 10 ms for each class whose scores are spread, up to 0.3 s for
  /// spreads of 0.01 and less.
  Chances at(double x) const;

  /// The x with P(W <= x) = probability; where the weight has atoms, the least x with P(W <= x) >=
  /// probability. Domain: 0 < probability < 1. The error counts that of the chances, over the slope there.
  /// Cost: that of 15 to 30 calls of at().
  Estimate quantile(double probability) const;

 private:
  bool is_sharp() const;

  std::vector<TokenClass> spread_;  // the classes of random scores, shifted by the needle's
  double given_ = 0;                // the sum over tokens of given scores, in units of e^score
  double size_ = 0;                 // of the scores that were shifted, whose rounding counts
  double log_mean_ = -std::numeric_limits<double>::infinity();  // of the sum over the others, in these units
  double log_variance_ = -std::numeric_limits<double>::infinity();
};

}  // namespace largo
