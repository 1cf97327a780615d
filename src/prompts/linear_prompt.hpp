// A prompt of Gaussian tokens under linear attention, without its tokens.
//
// In whitened coordinates linear attention depends on a prompt only through S = (1/L) Σ x_i x_iᵀ, and L S is
// a Wishart matrix: the output is <b, S a>, its gradients are S a and S b. In the frame of a and b (a = s e,
// b = αe + βf), Bartlett's decomposition gives the block
//
//   L S_ee = X,   L S_ef = √X ζ,   L S_ff = ζ² + Y,      X ~ χ²_L, Y ~ χ²_{L-1}, ζ ~ N(0, 1) independent.
//
// Given the block, the part of (S e, S f) orthogonal to e and f is Gaussian; its covariance is the block over
// L, times the identity.
#pragma once

#include <cstddef>
#include <cstdint>

#include "largo/runtime/matrix.hpp"
#include "prompts/collapsed_kernel.hpp"
#include "random/float_draws.hpp"

namespace largo::prompts {

/// S e and S b along e and f, and their covariance orthogonal to these, in the fields from which `spread`
/// takes Σ p x and Σ p (v - v̄) x. Domain: 1 <= L <= 2^53, finite α, β. Reads the prompt's counters from
/// address.first on. The same bits at every SIMD level. Cost: 0.1 µs for any L.
CollapsedSums linear_sums(const random::DrawAddress& address, std::int64_t L, double alpha, double beta);

/// Padded rows: the directions of the scores and of the values, and room for the frame.
struct LinearDirections {
  const double *a, *b;
  double *e, *f;
  std::size_t stride;
};

/// Writes S a and S b of a drawn prompt to `mean` and `gradient`, which hold standard normals on entry, and
/// returns the output <b, S a>.
double draw_linear_prompt(const random::DrawAddress& address, std::int64_t L,
                          const LinearDirections& directions, double* mean, double* gradient);

/// The same for a given S. Every sum runs in the order of its index.
double attend_second_moment(const Matrix& S, const double* a, const double* b, double* mean,
                            double* gradient);

}  // namespace largo::prompts
