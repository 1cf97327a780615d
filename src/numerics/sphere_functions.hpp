// The log-partition of the uniform law on the unit sphere of R^n, along a direction of length x, and its
// derivatives:
//
//   Λ_n(x) = log [ Γ(n/2) (2/x)^{n/2-1} I_{n/2-1}(x) ],   A_n = Λ_n' = I_{n/2}(x)/I_{n/2-1}(x),   A_n'
//
// for real n >= 1 and x >= 0. One family serves many laws: n = 1 is Rademacher (A = tanh), n = 3 is uniform
// on [-1,1] (A = coth x - 1/x), n = d the sphere, n = d+2 the ball. No Bessel function is formed, so nothing
// overflows: the ratio comes from its continued fraction, the value from the power series started at its
// largest term (all terms are positive), both from the Riccati series in 1/x when x is far beyond n².
//
// References: [1] D. E. Amos, Computation of modified Bessel functions and their ratios, Math. Comp. 28
// (1974): the bounds that start the fraction. [2] DLMF 10.33, 10.40.
#pragma once

namespace largo::numerics {

struct SphereTilt {
  double value;              ///< Λ_n(x)
  double derivative;         ///< A_n(x), in [0, 1)
  double second_derivative;  ///< A_n'(x) > 0
  double derivative_over_x;  ///< A_n(x)/x, 1/n at x = 0
};

/// Domain: n >= 1, x >= 0 finite. For n up to 1e4 and x up to 1e8 the relative error is below 1e-12, that of
/// the second derivative below max(1e-12, 1e-14 x/n). Cost: O(1) for n = 1 and for x > 2n² + 50, otherwise a
/// number of terms that grows like √x and x/n (a microsecond for n, x ~ 10, two at n = x = 1e4, 17 at n =
/// 1e3, x = 1e5).
SphereTilt sphere_tilt(double n, double x);

}  // namespace largo::numerics
