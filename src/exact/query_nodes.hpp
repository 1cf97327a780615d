// Rules over queries: nodes at which the errors of attention are summed, for any length of the prompt and any
// scale of the tokens.
//
// The errors at a query z depend on s² = |a|², a = RᵀUz, through the statistics of the softmax, times forms
// in the direction e = a/s and |z|². A node holds s² and those forms, with the weights of the rule in them.
#pragma once

#include <cstddef>
#include <deque>
#include <map>
#include <mutex>
#include <vector>

#include "exact/attention_forms.hpp"
#include "exact/query_law.hpp"

namespace largo::exact {

/// FormProducts with e in place of a; if s = 0, with any e.
struct DirectionNode {
  double square = 0;  ///< s²
  FormProducts fine{}, coarse{};
};

/// The products with e in place of a = s e.
FormProducts by_direction(const FormProducts& products, double square);

/// The nodes of queries in the rows of a matrix, with these weights.
std::vector<DirectionNode> nodes_of_rows(const ConstMatrixRef& queries, const ConstVectorRef& weights,
                                         const Matrix& scores, const AttentionForms& forms);

/// The only node of Gaussian queries whose scores all have the same spread.
DirectionNode node_of_constant_spread(const QueryLaw& law, const AttentionForms& forms);

/// Queries uniform on a sphere. How fine the rule of sphere_query_nodes() has to be depends on s², which
/// contains the scale of the tokens, so there is one rule per scale, made when first asked for and kept.
/// Thread-safe.
class SphereNodes {
 public:
  SphereNodes(double radius, const Matrix& scores, const AttentionForms& forms);

  /// The nodes, with s² at scale 1. Throws InputError if s may exceed 300.
  const std::vector<DirectionNode>& at(double scale, const Execution& execution = {}) const;

 private:
  double radius_, largest_spread_;
  Matrix scores_;
  AttentionForms forms_;
  mutable std::mutex mutex_;
  mutable std::map<double, std::vector<DirectionNode>> scales_;  // a map, so that nodes stay where they are
};

/// Gaussian queries: trapezoidal nodes in t, √(Q/λ) = ln(1 + e^t), which is analytic for |Im t| < π. Level 0
/// has step kFirstStep, and every level halves it, with nodes between those of the levels before. Nodes are
/// computed when first asked for, and kept. Thread-safe.
class GaussianNodes {
 public:
  static constexpr double kFirstStep = 0.4;

  /// Domain: a law of rank at least 1; a mean at most 1e4 deviations away from zero scores, else InputError.
  explicit GaussianNodes(QueryLaw law);

  /// The number of nodes of a level that matter for prompts of L tokens.
  std::size_t count(int level, double L) const;
  /// Node i of a level, without the step in its weight.
  const DirectionNode& at(int level, std::size_t i, const Execution& execution = {}) const;
  /// s² of the farthest queries that matter.
  double largest_square(double L) const;

 private:
  double last(double L) const;
  double place(int level, std::size_t i) const;
  DirectionNode compute(double t, const Execution& execution) const;

  QueryLaw law_;
  double first_;
  mutable std::mutex mutex_;
  mutable std::vector<std::deque<DirectionNode>> levels_;  // deques, so that nodes stay where they are
};

}  // namespace largo::exact
