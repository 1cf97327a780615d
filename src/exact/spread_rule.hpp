// Averages over the spread of the scores: of f(s²), f(s²) y_j² and f(s²) y_j² y_k² with s² = Σ λ_j y_j² and y
// standard normal, for any functions f at once. Risks of in-context regression and their gradients are sums
// of these, since other products of coordinates vanish by symmetry.
//
// As in query_law.hpp, the products have densities given s², which are inverses of Laplace transforms in
// closed form (a tilt by e^{u s²} leaves y independent, with variances D_j = 1/(1 - 2uλ_j)). Here there is no
// mean, so the densities depend on the ratios of the λ_j alone.
#pragma once

#include "largo/runtime/matrix.hpp"

namespace largo::exact {

class SpreadRule {
 public:
  /// For prompts of up to `length` tokens, or 1e12 if that is more: statistics of softmax attention are below
  /// 1/length only where s² is close to zero. Its step is divided by `refinement`. Domain: λ_j >= 0, not all
  /// zero. Cost: 0.4 ms for five λ_j, times the refinement.
  SpreadRule(const Vector& ratios, double length, int refinement = 1);

  /// What statistics of softmax attention need if the largest λ_j is spread²: one up to a spread of 2, or
  /// of 3 for a length of 1e4; for any spread, two up to 1e8, three up to 1e20, eleven at 1e300. Averages of
  /// these statistics times 1 and y_j² are then accurate to 1e-10 of themselves, and those of their slopes to
  /// 1e-9 (measured up to a spread of 300).
  static int refinement(double spread, double length);
  /// The same beside a sink of size e^β over prompts of at least `shortest` tokens: there the weight of the
  /// sink goes to the tokens around s = √(2(β - ln L)), over a distance in s that is one over that. Not less
  /// than the above.
  static int refinement(double spread, double shortest, double length, double sink);

  Eigen::Index size() const { return squares_.size(); }
  /// s² at each node, with the ratios as λ_j.
  const Vector& squares() const { return squares_; }
  /// Row by row, the weights of 1, of y_j², and of y_j² y_k² for k <= j (row moment_row(d, j, k)), with one
  /// column per node. The product with a column of values of f gives its averages.
  const Matrix& weights() const { return weights_; }
  /// The averages from every other node. They are less accurate, and how far they lie from the averages over
  /// all nodes estimates the error.
  Matrix coarse_averages(const Matrix& values) const;

  static Eigen::Index moment_row(Eigen::Index dimension, Eigen::Index j, Eigen::Index k) {
    return 1 + dimension + j * (j + 1) / 2 + k;
  }

 private:
  void add_densities(double rho, double weight, Eigen::Ref<Vector> column) const;
  double saddle_point(double decay) const;

  Vector ratios_, squares_;
  Matrix weights_;
};

}  // namespace largo::exact
