// The two directions of a prompt of Gaussian tokens that its scores and values see, and what lies across.
#pragma once

#include <cstddef>

#include "prompts/collapsed_kernel.hpp"

namespace largo {

/// Scores <a, x> = s g and values <b, x> = α g + β h, with g = <e, x>, h = <f, x>.
struct CollapsedFrame {
  double s = 0, alpha = 0, beta = 0;
};

/// Splits a and b: s e = a, α e + β f = b, with orthonormal e and f (f is zero where b lies along a). Padded
/// rows; e and f are written. The same bits at every SIMD level, like those of the functions below.
CollapsedFrame collapse(const double* a, const double* b, std::size_t stride, double* e, double* f);

/// x̄ = Σ p x and Σ p (v - v̄) x from the sums of the kernel: along e and f as they are, across both Gaussian.
/// `mean` and `gradient` hold two vectors of standard normals and are overwritten.
void spread(const CollapsedSums& sums, const double* e, const double* f, std::size_t stride, double* mean,
            double* gradient);

/// <x, y> of padded rows.
double dot(const double* x, const double* y, std::size_t stride);

}  // namespace largo
