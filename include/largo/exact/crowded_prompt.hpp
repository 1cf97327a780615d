// Softmax weights over a crowd of any law with a known score law, beside planted tokens.
//
// The prompt has L i.i.d. tokens z of the crowd's law, with scores <a, z>, and the tokens of the classes that
// are planted: a needle, sinks, a window. All scores are multiplied by a factor β (an inverse temperature).
// As in token_classes.hpp, S = Σ_j e^{β x_j} and p_i = e^{β x_i}/S, and nothing is sampled.
//
//   CrowdedPrompt prompt = normal_crowd(1.5);                    // scores 1.5 g
//   prompt.needle = TokenClass{1, 8, 0};
//   crowd_weights(prompt, 1e4).needle.value                      // the weight of a needle of score 8
//
// docs/temperature.md derives the formulas.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "largo/exact/token_classes.hpp"
#include "largo/measures/measure.hpp"

namespace largo {

struct CrowdedPrompt {
  MeasurePtr crowd;                       ///< must have a score law along the direction
  Vector direction;                       ///< a = Uz
  std::optional<TokenClass> needle = {};  ///< the tokens that are to be found
  std::vector<TokenClass> planted = {};   ///< the others: sinks, a window

  /// The largest distance of a score from zero that matters at β = 1, roughly.
  double score_size() const;
};

/// A crowd whose scores are normal with mean 0 and this standard deviation. Domain: s > 0, finite.
CrowdedPrompt normal_crowd(double s);

struct CrowdWeights {
  Estimate crowd;                 ///< E of the weight of the whole crowd
  Estimate needle;                ///< E of the needle's weight; 0 without one
  std::vector<Estimate> planted;  ///< the same for each class that is planted
  Estimate P2;                    ///< E Σ_i p_i², over all tokens
  Estimate effective_tokens;      ///< 1 / P2
  Estimate entropy;               ///< E H, H = -Σ_i p_i ln p_i
  Estimate log_partition;         ///< E ln S
};

/// Domain: L from 1 to 1e300, real; β >= 0. The scaled scores of a Gaussian crowd may have any spread up to
/// 1e6, with the error and cost of class_moments(). Those of other laws must be within the limits of
/// score_law_error(), and what is planted beside them within 1e4 of them, with spreads up to 30. For these
/// the error is about 1e-13, relative (log_partition: absolute, or relative if it is large), each with its
/// estimate, and the cost is 100 to 400 values of t times the number of nodes of the law, some 20 ns each.
/// Values below 1e-290 have an absolute error only. InputError otherwise.
CrowdWeights crowd_weights(const CrowdedPrompt& prompt, double L, double beta = 1);

/// Why crowd_weights() refuses the scores at this β, in words, or nothing.
std::optional<std::string> beyond_limits(const CrowdedPrompt& prompt, double beta);

/// E‖T[μ̂_L] - T[μ]‖² of the crowd alone for values V, at scores scaled by β: the output error that comes with
/// sharper attention. Domain, error and cost: as above.
Estimate crowd_output_error(const CrowdedPrompt& prompt, const ConstMatrixRef& value_map, double L,
                            double beta = 1);

}  // namespace largo
