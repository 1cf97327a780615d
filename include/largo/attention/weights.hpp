// The weights of an attention layer. Shapes: tokens in R^d, queries in R^e, outputs in R^o; U is d x e, V is
// o x d, K is r x d, Q is r x e.
#pragma once

#include <utility>

#include "largo/runtime/matrix.hpp"

namespace largo {

struct MergedWeights {
  Matrix U;
  Matrix V;
  double score_scale = 1;  ///< factor of the scores; usually 1/√r for key dimension r
};

struct FactoredWeights {
  Matrix K;
  Matrix Q;
  Matrix V;
  double score_scale;

  // All three are required, so that {U, V} means MergedWeights in a call that takes either.
  FactoredWeights(Matrix keys, Matrix queries, Matrix values, double scale = 1)
      : K(std::move(keys)), Q(std::move(queries)), V(std::move(values)), score_scale(scale) {}

  /// The same weights with U = KᵀQ. Throws InputError if the shapes do not fit.
  MergedWeights merged() const;
};

}  // namespace largo
