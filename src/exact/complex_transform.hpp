// The Laplace transform of e^{s g}, g ~ N(0,1), at complex arguments.
#pragma once

#include <complex>

namespace largo::exact {

struct LogTransform {
  std::complex<double> value;  ///< ln φ, its principal value; the real part is -∞ where φ underflows
  double error = 0;            ///< of the value, by rounding
};

/// ln φ(t), φ(t) = E exp(-t e^{s g}), at t = e^{log_size + i angle}, with the relative accuracy of 1 - φ
/// where that is small. Domain: s > 0, |angle| up to π/2 + 2.5 s and below π; underflow of 1 - φ gives 0. The
/// tail of g is followed as far as it matters relative to 1 - φ.
///
/// The trapezoidal rule in g on the line Im g = -η, which multiplies the integrand by e^{η²/2 + iηg}: there
/// exp(-t e^{s g}) decays in a strip of half-width 1 at least (or π/2s, if that is less), for any s.
/// Cost: 100 nodes for s up to 1.5, 60 s for larger s, some 80 ns each.
LogTransform log_transform(double log_size, double angle, double s);

}  // namespace largo::exact
