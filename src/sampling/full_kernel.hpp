// A prompt of tokens with independent coordinates, drawn in full and attended in one pass.
//
// Whitened tokens χ_i in R^k, scores <a, χ_i>, values v_i = <b, χ_i>. The prompt is drawn in chunks of 256
// tokens that stay in the cache; nothing of its length is stored.
#pragma once

#include <cstdint>
#include <vector>

#include "numerics/aligned_vector.hpp"
#include "sampling/float_draws.hpp"

namespace largo {

/// With weights p_i ∝ e^{<a, χ_i>}.
struct FullSums {
  std::vector<double> mean;      ///< Σ p χ
  std::vector<double> gradient;  ///< Σ p (v - v̄) χ, the gradient of v̄ in a
  double value = 0;              ///< v̄ = Σ p v
};

/// Standard normal coordinates. Scratch memory is kept between prompts.
class FullKernel {
 public:
  explicit FullKernel(std::size_t dimension);

  /// L tokens of the prompt at `address`; coordinates 2j and 2j + 1 of its tokens are drawn at counters from
  /// 2^40 j on. Domain: 1 <= L < 2^40. float32 arithmetic, summed in float64 every 256 tokens; the same bits
  /// at every SIMD level. Cost: 2 ns a coordinate and token with AVX2.
  void operator()(const DrawAddress& address, std::int64_t L, const double* a, const double* b,
                  FullSums& sums);

 private:
  std::size_t dimension_, pairs_;
  AlignedVector<float> chi_;  ///< the chunk, coordinate by coordinate
  AlignedVector<float> scores_, values_;
  std::vector<float> a_, b_;
  AlignedVector<float> partial_;  ///< of Σ w, Σ wv, and Σ wχ_j, Σ wvχ_j for each j
  std::vector<double> sums_;
};

}  // namespace largo
