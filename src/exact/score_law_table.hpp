// The law of the tokens as the integrals over t see it (score_law_error.hpp): nodes in the score, and
// averages of functions of a token given its score at each of them.
#pragma once

#include <functional>
#include <vector>

#include "largo/measures/score_law.hpp"
#include "measures/score_law_nodes.hpp"

namespace largo::exact {

/// The law as seen from its limit T[μ]: given v, within component k, x = Vz' - T[μ] has mean
/// at.col(k) + along.col(k) (v - tilted[k]) and variance (constant_part + round_part (1 - v²)) spread[k].
struct Centred {
  double reference = 0;      // subtracted from all scores
  double log_partition = 0;  // relative to the reference
  std::vector<double> tilted;
  std::vector<double> spread;
  Matrix basis;  // of the outputs, if there are more of them than columns below; otherwise empty
  Matrix at;
  Matrix along;
  Matrix planted = {};       // x of the planted tokens, one per column
  double planted_terms = 0;  // the size of the terms whose difference these are
};

/// Without a basis.
Centred centred_values(const ScoreLaw& law, const ConstMatrixRef& V);
/// With as few coordinates of x as there are directions; norms stay the same. The values of planted tokens
/// are the columns of `planted`.
Centred compressed_values(const ScoreLaw& law, const ConstMatrixRef& V, const Matrix& planted = {});

/// Where a component of the law is evaluated.
struct ScoreNode {
  std::size_t component = 0;
  double v = 0;
  double one_minus_v_squared = 1;
  bool is_tilt = false;  // stands for the whole of a Gaussian component tilted by e^u (measures::tilt_node)
};

/// All nodes of the law, those of Gaussian components merged where they share a lattice.
struct NodeTable {
  Eigen::ArrayXd score;
  Eigen::ArrayXd expected;  // L w, the expected number of tokens of a prompt at the node
  RowMatrix averages;       // row i: L w E[features | u]
};

/// Nodes for prompts of the given length, as far out as `prompts` says; coarsening 2 doubles all steps (see
/// score_nodes). fill(node, features) sets the means of `count` functions of a token given the node. If the
/// table would have more than `most_numbers` averages, nothing is filled, and all arrays are empty.
NodeTable make_node_table(const ScoreLaw& law, double reference, double length,
                          const measures::ScoreReach& prompts, int coarsening, std::ptrdiff_t count,
                          std::ptrdiff_t most_numbers,
                          const std::function<void(const ScoreNode&, Eigen::Ref<Vector>)>& fill);

/// What every integrand needs at one t: the e^{-t e^u}, and φ_0.
class NodesAtT {
 public:
  NodesAtT(const Eigen::ArrayXd& score, const Eigen::ArrayXd& expected, double length);

  /// Sets z, exponential and complement for y = ln t, and returns -log φ_0.
  double exponent(double y);

  const Eigen::ArrayXd& z() const { return z_; }                      // t e^u
  const Eigen::ArrayXd& exponential() const { return exponential_; }  // e^{-z}
  const Eigen::ArrayXd& complement() const { return complement_; }    // 1 - e^{-z}, to a few ulp
  /// -score of the node with the smallest score
  double farthest() const;

 private:
  std::size_t size() const { return static_cast<std::size_t>(score_.size()); }

  const Eigen::ArrayXd& score_;
  const Eigen::ArrayXd& expected_;
  double length_;
  Eigen::ArrayXd z_, exponential_, complement_;
};

/// Sums integrands over y = ln t on the lattice of `step`, from the right, where φ_0^L or all the e^{-z}
/// vanish, to the left, where terms have become negligible for good. add(y) adds what is at y and returns the
/// size of its largest part; is_rest_small() says whether all smaller t together are negligible. Returns y of
/// the largest term. Stops at a term that is not finite, which the caller finds in its sum.
double sum_over_t(NodesAtT& nodes, double log_partition, double length, double step,
                  const std::function<double(double y)>& add, const std::function<bool()>& is_rest_small);

/// The rounding error of v near the end of its range, in units of the length over which the density falls
/// off.
double steepness(const ScoreLaw& law);

/// A sum over t by nodes of coarsening 1.
struct SumOverT {
  double value = 0;
  double magnitude = 0;  // the same sum over the sizes of the parts that cancel
  double peak = 0;       // y of the largest term
};
/// Its absolute error. The rules converge geometrically, so the square of the relative difference from the
/// coarser sum is the error of the finer one; ten times that counts, and rounding.
double error_of_sum(const ScoreLaw& law, const SumOverT& fine, double coarse);

/// The step in y that goes with nodes of coarsening 1: 7/32 is exact, so that the grid is exact.
inline constexpr double kStepInLogT = 7.0 / 32;
/// Relative size of the terms at which sums over y stop.
inline constexpr double kNegligibleTerm = 1e-18;

}  // namespace largo::exact
