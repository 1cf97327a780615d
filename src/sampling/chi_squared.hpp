// Chi-squared variables, addressed like all draws.
#pragma once

#include <cstddef>
#include <cstdint>

#include "sampling/float_draws.hpp"

namespace largo {

/// Candidates (a normal and a uniform of 32 bits each) from consecutive groups of two lanes of counters:
/// normals from normal_draws on, uniforms from uniform_draws on. What comes out is a function of the
/// addresses and of the order of the calls, with the same bits at every SIMD level. Cost: 60 ns for every 16
/// candidates, of which a variable takes some 1.01.
class ChiSquaredDraws {
 public:
  ChiSquaredDraws(const DrawAddress& normal_draws, const DrawAddress& uniform_draws)
      : normal_draws_(normal_draws), uniform_draws_(uniform_draws) {}

  /// A standard normal variable.
  double normal() { return next().normal; }

  /// χ² with n degrees of freedom, 0 <= n <= 2^53: exactly 0 for n = 0, the square of a normal for n = 1, and
  /// from n = 2 on by rejection (G. Marsaglia and W. W. Tsang, A simple method for generating gamma
  /// variables, ACM TOMS 26, 2000): with k = n/2, δ = k - 1/3 and w = (1 + x/√(9δ))³, 2δw is accepted where
  /// ln u < x²/2 + δ(1 - w + ln w). Exact in law but for the granularity of the draws (24 and 32 bits; |x| <=
  /// 6.66).
  double chi_squared(std::int64_t degrees);

 private:
  struct Candidate {
    double normal = 0, uniform = 0;
  };
  Candidate next();
  void draw();

  static constexpr std::size_t kDrawn = 2 * kTokensAtOnce;
  DrawAddress normal_draws_, uniform_draws_;
  std::size_t used_ = kDrawn;
  alignas(64) float normals_[kDrawn];
  alignas(64) std::uint32_t words_[kDrawn];
};

}  // namespace largo
