// Averages over prompts by enumeration, for laws of a few points.
#pragma once

#include <cstddef>

#include "largo/runtime/matrix.hpp"

namespace largo::test {

/// Calls visit(tokens, probability) for each of the n^L prompts of L tokens that are drawn from n points with
/// these weights, one per row.
template <class Visit>
void for_all_prompts(const RowMatrix& points, const Vector& weights, int L, const Visit& visit) {
  const std::ptrdiff_t n = points.rows();
  std::ptrdiff_t prompts = 1;
  for (int l = 0; l < L; ++l) prompts *= n;
  RowMatrix tokens(L, points.cols());
  for (std::ptrdiff_t code = 0; code < prompts; ++code) {
    double probability = 1;
    for (std::ptrdiff_t l = 0, rest = code; l < L; ++l, rest /= n) {
      tokens.row(l) = points.row(rest % n);
      probability *= weights[rest % n];
    }
    visit(tokens, probability);
  }
}

}  // namespace largo::test
