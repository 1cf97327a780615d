// What a law says about one query before any prompt is drawn: the limit of attention, and how long a prompt
// must be to come near it.
#pragma once

#include <algorithm>
#include <variant>
#include <vector>

#include "largo/measures/measure.hpp"
#include "largo/measures/token_leaf.hpp"

namespace largo::estimation {

struct QueryLimit {
  QueryLimit(const Measure& law, const ConstMatrixRef& U, const ConstVectorRef& query, TiltOrder order);

  Vector query;
  Vector direction;  ///< a = Uz
  Tilt tilt;         ///< the tilt along a
  /// D(ν_a‖μ), the relative entropy of the tilted law. Attention over L tokens estimates the mean of ν_a with
  /// weights, which takes about e^{D} tokens (S. Chatterjee and P. Diaconis, The sample size required in
  /// importance sampling, 2018). For Gaussian scores, L = e^D is the condensation line s = √(2 ln L).
  double entropy = 0;
};

/// The variance of the squared error over prompts comes from tokens typical of another tilt ν_{θa}: θ = 4, or
/// the smaller θ at which a single token outweighs the rest of the prompt, <a, mean(ν_{θa})> = `log_weight`.
/// That is the logarithm of the expected sum of e^{score}: Λ(a) + ln L for L tokens of the law alone.
/// Returns D(ν_{θa}‖μ): among n prompts there are about n L e^{-D} such tokens, and the width of an interval
/// is reliable only if these are many. Where ν_{θa} is partly the bulk of the tokens and partly a rare
/// component, D is raised to that of the rare ones. Cost: up to 14 tilts.
double rare_token_entropy(const Measure& law, const QueryLimit& limit, double log_weight);

/// Known means of controls: sums over the prompt, divided by e^{Λ(a)} instead of the sum of the weights.
struct LinearLimit {
  LinearLimit(const Measure& law, const QueryLimit& limit, const ConstMatrixRef& V, double L);

  double p2 = 0;       ///< E[S² Σ p_i²], S = (1/L) Σ e^{<a, z_i> - Λ(a)}
  double output = 0;   ///< E[S² ‖V (mean(ν̂_a) − mean(ν_a))‖²]
  double mean = 0;     ///< the same without V
  double entropy = 0;  ///< D(ν_{4a}‖μ): how rare the tokens are that carry the variance of these controls
};

/// Whether a law with these leaves is a mixture of Gaussians.
inline bool all_normal(const std::vector<TokenLeaf>& leaves) {
  return std::all_of(leaves.begin(), leaves.end(), [](const TokenLeaf& leaf) {
    return std::holds_alternative<NormalTokens>(leaf.base) && !leaf.squared_radius;
  });
}

}  // namespace largo::estimation
