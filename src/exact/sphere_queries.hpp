// Queries uniform on a sphere: a rule for averages of f(s²) times forms of the query, for every f at once.
//
// z = r θ in coordinates in which the spread of the scores is s² = Q = Σ λ_j θ_j². A Gaussian g in R^e has a
// norm independent of its direction θ, so for P homogeneous of degree 2m
//
//   E[P(θ) δ(Q - q)] = E[P(g) δ(Σ (λ_j - q) g_j²)] / E|g|^{2m-2}
//                    = 1/E|g|^{2m-2} 1/2πi ∫ ∏ √D_j E_u[P] du,    D_j = 1/(1 - 2u(λ_j - q)),
//
// with g ~ N(0, D) under E_u. The branch points lie on the real axis, on both sides of the saddle point; on
// the vertical through it every factor falls from the axis on, so nothing cancels, and in w, u = u_0 + i c
// sinh w, the integrand is analytic for |Im w| < π/2 if c is at most the distance to the next branch point.
//
// In q the density is analytic between neighbouring λ_j. On each such interval the rule is trapezoidal in x,
// q = λ_j + (λ_{j+1} - λ_j)/(1 + e^{-x}): all of the real axis outside of the interval, with the other λ's,
// however close, is then at |Im x| = π. Distances to the λ's are sums of positive terms, so gaps of any size
// keep all their digits.
#pragma once

#include <vector>

#include "exact/query_law.hpp"

namespace largo {

/// Nodes for z uniform on the sphere of the given radius in R^e, e >= 1; `scores` maps z to a, s² = |a|², and
/// W, G, WG are symmetric. Σ f(square) fine[k] = E[f(s²) product_k] for f of at most exponential slope 4 in
/// s² and smooth on the scale of 1 in s, like all statistics of the softmax. Error: relatively to E|f
/// product| usually 1e-13, 1e-10 at most, for any eigenvalues, equal, nearly equal or zero. Fine and coarse
/// differ by the step of the contour alone, at most 1e-11, and not at all for e <= 2 or where all queries
/// have one s² (one node then; at s² = 0 its forms of a are zero). Nodes: 60 to 270 for each interval between
/// distinct eigenvalues, 1,000 for one over which s changes by 30. Cost: 30 to 160 ms for e <= 8, 0.4 to 1 s
/// for e = 30, 5 s for e = 100. Throws Stopped.
std::vector<QueryNode> sphere_query_nodes(double radius, const Matrix& scores, const Matrix& W,
                                          const Matrix& G, const Matrix& WG, const Execution& execution = {});

}  // namespace largo
