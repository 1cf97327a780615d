// A prompt of Gaussian tokens, drawn and attended in one pass, without its d dimensions.
//
// In whitened coordinates x_i ~ N(0, I) the scores see g_i = <x_i, e> alone, and the values v_i = α g_i + β
// h_i one more coordinate, h_i = <x_i, f> with f ⊥ e. What else the output and its gradients depend on is
// Gaussian given these, and is drawn once per prompt (regression_gradient.cpp). So a token costs two normals
// and one exponential, whatever d is.
#pragma once

#include <cstddef>
#include <cstdint>

#include "largo/runtime/execution.hpp"
#include "prompts/collapsed_token.hpp"
#include "random/float_draws.hpp"

namespace largo::prompts {

/// L tokens of the prompt at `address`. Domain: s >= 0, 1 <= L < 2^40. Arithmetic in float32 (each draw and
/// weight to 2^-21.8), summed in float64 every 512 tokens. The same bits at every SIMD level. Cost: 2.2 ns
/// a token with AVX2. Throws Stopped within 2^20 tokens of a stop.
CollapsedSums collapsed_sums(const random::DrawAddress& address, std::int64_t L, double s, double alpha,
                             double beta, const Execution& execution);

// The two directions of a prompt of Gaussian tokens that its scores and values see, and what lies across.

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

}  // namespace largo::prompts
