// h(u) = ∫_u^∞ e^-v (ln v + γ) dv = e^-u (ln u + γ) + E_1(u), by which the entropy of softmax weights is an
// integral of positive terms (class_moments.cpp). It is positive, u (1 - γ - ln u) for small u, and falls
// like e^-u ln u.
#pragma once

namespace largo::exact {

/// h(e^x). Relative error 1e-14. Zero for x > ln 745. Cost: 10 ns.
double log_remainder(double x);

/// E h(e^{y + s g}), g ~ N(0,1), s >= 0. Relative error 1e-13. Cost: some 10 ns for each of 30 to 300 nodes.
double mean_log_remainder(double y, double s);

}  // namespace largo::exact
