// The law of the tokens as the integrals of score_law_error see it: nodes in the score, and the values of
// x = Vz' - T[μ] at each of them.
#pragma once

#include <vector>

#include "largo/measures/score_law.hpp"

namespace largo::exact {

/// The law as seen from its limit T[μ]: given v, within component k, x has mean
/// at.col(k) + along.col(k) (v - tilted[k]) and variance (constant_part + round_part (1 - v²)) spread[k].
struct Centred {
  double reference = 0;      // subtracted from all scores
  double log_partition = 0;  // relative to the reference
  std::vector<double> tilted;
  std::vector<double> spread;
  Matrix basis;  // of the outputs, if there are more of them than columns below; otherwise empty
  Matrix at;
  Matrix along;
};

Centred centre(const ScoreLaw& law, const ConstMatrixRef& V);

/// All nodes of the law, those of Gaussian components merged where they share a lattice.
struct Table {
  Eigen::ArrayXd score;
  Eigen::ArrayXd expected;  // L w, the expected number of tokens of a prompt at the node
  Eigen::ArrayXd square;    // L w E[‖x‖² | u]
  Matrix x;                 // row i: E[x | u]
};

/// Nodes for prompts of the given length; coarsening 2 doubles all steps (see score_nodes).
Table make_table(const ScoreLaw& law, const Centred& centred, double length, int coarsening);

}  // namespace largo::exact
