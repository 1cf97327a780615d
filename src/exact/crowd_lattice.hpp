// Softmax weights over a crowd that is not a single Gaussian, beside planted classes of tokens: the integrals
// of class_moments.cpp as sums over y = ln t, with the crowd's nodes (score_law_table.hpp) under them.
#pragma once

#include <vector>

#include "largo/exact/token_classes.hpp"
#include "largo/measures/score_law.hpp"

namespace largo::exact {

/// In the order in which the classes are given, with the crowd last.
struct AllWeights {
  std::vector<Estimate> weights;
  Estimate P2, entropy, log_partition;
};

/// The centre of the component that dominates under the tilt by e^u: scores are taken relative to it.
double reference_score(const ScoreLaw& law);

/// Domain: a law within the limits of score_law_error(), and planted classes whose shifts are within
/// kLargestScoreRange of reference_score(), with spreads up to kLargestScoreDeviation. Errors are as in
/// crowded_prompt.hpp.
AllWeights crowd_by_nodes(const ScoreLaw& law, std::vector<TokenClass> planted, double L);

}  // namespace largo::exact
