// A prompt of Gaussian tokens under linear attention, without its tokens.
//
// In whitened coordinates linear attention sees a prompt through S = (1/L) Σ x_i x_iᵀ alone, L times which is
// a Wishart matrix: the output is <b, S a>, its gradients are S a and S b. In the frame of a and b (a = s e,
// b = αe + βf) S has, by Bartlett's decomposition, the block
//
//   L S_ee = X,   L S_ef = √X ζ,   L S_ff = ζ² + Y,      X ~ χ²_L, Y ~ χ²_{L-1}, ζ ~ N(0, 1) independent,
//
// and across e and f, given the block, (S e, S f) is Gaussian with the block over L as covariance, times the
// identity.
#pragma once

#include <cstddef>
#include <cstdint>

#include "largo/runtime/matrix.hpp"
#include "prompts/collapsed_kernel.hpp"
#include "random/float_draws.hpp"

namespace largo::prompts {

/// S e and S b along e and f and their covariance across, for `spread`: in the places of Σ p x and Σ p (v -
/// v̄) x. Domain: 1 <= L <= 2^53, finite α, β. Reads the prompt's counters from address.first on. The same
/// bits at every SIMD level. Cost: 0.1 µs, whatever L is.
CollapsedSums linear_sums(const random::DrawAddress& address, std::int64_t L, double alpha, double beta);

/// Padded rows: directions of scores and of values, and room for the frame.
struct LinearDirections {
  const double *a, *b;
  double *e, *f;
  std::size_t stride;
};

/// S a and S b of a drawn prompt into `mean` and `gradient`, which hold standard normals and are overwritten;
/// returns the output <b, S a>.
double draw_linear_prompt(const random::DrawAddress& address, std::int64_t L,
                          const LinearDirections& directions, double* mean, double* gradient);

/// The same for the S given, every sum in the order of its index.
double attend_second_moment(const Matrix& S, const double* a, const double* b, double* mean,
                            double* gradient);

}  // namespace largo::prompts
