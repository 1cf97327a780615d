// Moments of quadratic functions of Gaussian vectors, in closed form.
#pragma once

#include "largo/runtime/matrix.hpp"

namespace largo::concentration {

/// E‖x‖^{2p}, x ~ N(mean, covariance), p >= 1, from the cumulants of ‖x‖²,
///   κ_j = 2^{j-1} (j-1)! (tr Γ^j + j <mean, Γ^{j-1} mean>).
/// All terms are positive, so the error is a few dozen ulp; infinite where it overflows. Cost: p products of
/// d x d matrices.
double gaussian_norm_moment(const Vector& mean, const ConstMatrixRef& covariance, int p);

/// ln E e^{<z, Bz>} for z = mean + root g, g standard normal, and B positive semi-definite:
///   Σ_i { 2 b_i²/(1 - 2λ_i) - ½ ln(1 - 2λ_i) } + <mean, B mean>
/// with λ_i the eigenvalues of M = rootᵀ B root and b = rootᵀ B mean in the basis of its eigenvectors. It is
/// finite if and only if 2λ < 1 for the largest λ.
struct ExponentialMoment {
  double log_value = 0;
  double largest = 0;  ///< the largest λ
};
ExponentialMoment log_exponential_moment(const Vector& mean, const ConstMatrixRef& root,
                                         const ConstMatrixRef& B);

}  // namespace largo::concentration
