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
  /// Domain: the classes of the other tokens as for class_moments(), with spreads up to kLargestNeedleSpread,
  /// whole counts below 1000, and e^score times a count within e^±600 of that of the needle; |score| up to
  /// kLargestShift; otherwise InputError.
  NeedleWeight(std::vector<TokenClass> others, double score);

  struct Chances {
    Estimate below;  ///< P(W <= x)
    Estimate above;  ///< P(W > x)
  };
  /// Domain: any x but those between 0 and 1e-280; 0 and less are never reached, and 1 is never passed. The
  /// error is about 1e-15 √n/s for n tokens of spread s, as W itself depends so sharply on x: 1e-12 for a
  /// million of spread 1, 1e-9 for a million of spread 1e-3. A small `above` has its digits; a small `below`
  /// has an absolute error only, unless the needle's usual weight is far above x. Each comes with its
  /// estimate. Cost: 1 to 10 ms for each class whose scores are spread, up to a second where spreads of 0.01
  /// and less meet wide ones.
  Chances at(double x) const;

  /// The x with P(W <= x) = probability; where the weight is one number, that number. Domain: 0 < probability
  /// < 1. InputError where the error of at() hides so small a chance and W is not known to 1e-6 otherwise,
  /// and for quantiles below 1e-277. The error counts that of the chances, over the slope there. Cost: that
  /// of 15 to 30 calls of at().
  Estimate quantile(double probability) const;

 private:
  bool is_sharp() const;
  Estimate usual(double probability) const;

  std::vector<TokenClass> spread_;  // the classes of random scores, shifted by the needle's
  double given_ = 0;                // the sum over tokens of given scores, in units of e^score
  double size_ = 0;                 // of the scores that were shifted, whose rounding counts
  double log_mean_ = -std::numeric_limits<double>::infinity();  // of the sum over the others, in these units
  double log_variance_ = -std::numeric_limits<double>::infinity();
};

}  // namespace largo
