// Gradients by differences.
#pragma once

#include "largo/runtime/matrix.hpp"

namespace largo::test {

/// Central differences of eighth order: the error is (h/ℓ)^8/630 where the function changes over lengths ℓ.
template <typename Function>
Vector gradient_by_differences(const Function& function, const Vector& at, double h) {
  constexpr double kWeights[] = {4.0 / 5, -1.0 / 5, 4.0 / 105, -1.0 / 280};
  Vector gradient = Vector::Zero(at.size());
  for (Eigen::Index j = 0; j < at.size(); ++j) {
    for (int k = 1; k <= 4; ++k) {
      Vector ahead = at, behind = at;
      ahead[j] += k * h;
      behind[j] -= k * h;
      gradient[j] += kWeights[k - 1] / h * (function(ahead) - function(behind));
    }
  }
  return gradient;
}

}  // namespace largo::test
