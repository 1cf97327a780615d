// Draws a prompt of Gaussian tokens and attends over it in one pass, without its d dimensions.
//
// In whitened coordinates x_i ~ N(0, I) the scores depend only on g_i = <x_i, e>, and the values v_i = α g_i
// + β h_i on one more coordinate, h_i = <x_i, f> with f ⊥ e. Given these, everything else that the output and
// its gradients depend on is Gaussian and is drawn once per prompt (regression_gradient.cpp). So a token
// costs two normals and one exponential for any d.
#pragma once

#include <cstddef>
#include <cstdint>

#include "largo/runtime/execution.hpp"
#include "prompts/collapsed_token.hpp"
#include "random/float_draws.hpp"

namespace largo::prompts {

/// The sums over the L tokens of the prompt at `address`. Domain: s >= 0, 1 <= L < 2^40. Arithmetic is in
/// float32 (each draw and weight to 2^-21.8), summed in float64 every 512 tokens, with the same bits at every
/// SIMD level. Cost: 2.2 ns a token with AVX2. Throws Stopped within 2^20 tokens of a stop.
CollapsedSums collapsed_sums(const random::DrawAddress& address, std::int64_t L, double s, double alpha,
                             double beta, const Execution& execution);

// The two directions on which the scores and values of a Gaussian prompt depend, and the rest of it.

/// Scores <a, x> = s g and values <b, x> = α g + β h, with g = <e, x>, h = <f, x>.
struct CollapsedFrame {
  double s = 0, alpha = 0, beta = 0;
};

/// Splits a and b: s e = a, α e + β f = b, with orthonormal e and f (f is zero where b lies along a). All are
/// padded rows; e and f are written. This and the functions below give the same bits at every SIMD level.
CollapsedFrame collapse(const double* a, const double* b, std::size_t stride, double* e, double* f);

/// Computes x̄ = Σ p x and Σ p (v - v̄) x from the sums of the kernel. Along e and f they are these sums;
/// orthogonal to both they are Gaussian. `mean` and `gradient` hold two vectors of standard normals on entry
/// and are overwritten.
void spread(const CollapsedSums& sums, const double* e, const double* f, std::size_t stride, double* mean,
            double* gradient);

/// <x, y> for padded rows.
double dot(const double* x, const double* y, std::size_t stride);

}  // namespace largo::prompts
