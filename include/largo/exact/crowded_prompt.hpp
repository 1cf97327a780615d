// Softmax weights over a crowd of any law with a known score law, beside planted tokens.
//
// The prompt has L tokens of the crowd, whose scores are i.i.d. (ScoreLaw), and the tokens of the classes
// that are planted: a needle, sinks, a window. All scores are multiplied by an inverse temperature β. As in
// token_classes.hpp, S = Σ_j e^{β x_j} and p_i = e^{β x_i}/S, and nothing is sampled.
//
//   const CrowdedPrompt prompt{.crowd = law->score_law(a), .needle = TokenClass{1, 8, 0}};
//   crowd_weights(prompt, 1e4, 1).needle.value                   // the weight of a needle of score 8
//
// docs/temperature.md derives the formulas.
#pragma once

#include <optional>
#include <vector>

#include "largo/exact/token_classes.hpp"
#include "largo/measures/score_law.hpp"

namespace largo {

struct CrowdedPrompt {
  ScoreLaw crowd;
  std::optional<TokenClass> needle = {};
  std::vector<TokenClass> sinks = {};
};

struct CrowdWeights {
  Estimate crowd;               ///< E of the weight of the whole crowd
  Estimate needle;              ///< E of the needle's weight; 0 without one
  std::vector<Estimate> sinks;  ///< the same for each sink
  Estimate P2;                  ///< E Σ_i p_i², over all tokens
  Estimate effective_tokens;    ///< 1 / P2
  Estimate entropy;             ///< E H, H = -Σ_i p_i ln p_i
  Estimate log_partition;       ///< E ln S
};

/// Domain: L from 1 to 1e300, real; β >= 0. A Gaussian crowd may have any spread up to 1e6 after scaling by
/// β, with the error and cost of class_moments(). Other laws must be within the limits of score_law_error()
/// after scaling (beyond_limits()). For these the error is about 1e-13, relative (log_partition: absolute, or
/// relative if it is large), each with its estimate, and the cost is 100 to 400 values of t times the number
/// of nodes of the law, some 20 ns each. InputError otherwise.
CrowdWeights crowd_weights(const CrowdedPrompt& prompt, double L, double beta = 1);

/// E‖T[μ̂_L] - T[μ]‖² of the crowd alone for values V, at scores scaled by β: the output error that comes with
/// sharper attention. Error and cost: as above.
Estimate crowd_output_error(const ScoreLaw& crowd, const ConstMatrixRef& value_map, double L,
                            double beta = 1);

/// The law of βu. Domain: β > 0.
ScoreLaw scaled_scores(ScoreLaw law, double beta);

}  // namespace largo
