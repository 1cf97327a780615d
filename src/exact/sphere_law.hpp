// The joint law of θᵀΛθ and forms of θ, for θ uniform on a sphere: its spectrum, the density at a place
// between two eigenvalues by a contour integral and, further down, a rule for averages over such queries.
#pragma once

#include <cmath>
#include <vector>

#include "exact/query_law.hpp"

namespace largo::exact {

/// The forms, in coordinates in which s² is diagonal, by groups of equal eigenvalues.
struct SphereSpectrum {
  double radius_square = 0;
  double largest = 0;  ///< largest λ
  double contour_step = 0;
  Vector levels;  ///< the distinct λ divided by the largest, ascending
  Vector counts;
  Vector W, G, WG;  ///< traces of the forms within a group
  Matrix product;   ///< tr W_gh G_hg

  double size() const { return counts.sum(); }

  /// All products, from those of 1, w, g, h and w g.
  FormProducts products(double one, double w, double g, double h, double wg) const {
    const double Z = radius_square;
    return {one, w, g, Z * one, Z * w, Z * g, Z * h, Z * wg};
  }
};

SphereSpectrum sphere_spectrum(double radius, const Matrix& scores, const Matrix& W, const Matrix& G,
                               const Matrix& WG);

/// Trapezoidal rules are to have errors of about e^-kSphereDigits.
inline constexpr double kSphereDigits = 28;

/// τ with |Γ(α + iτ)| = e^-kSphereDigits Γ(α), by Stirling's formula: 2π/τ is the step for e^{-αx - e^{-x}},
/// the model of an integrand that falls like a power of e^{-x} and much faster on the other side.
double needed_frequency(double alpha);

/// A place between two neighbouring levels, given by its distances to both.
struct SpherePlace {
  Eigen::Index interval = 0;
  double lower = 0, upper = 0;
};

/// Densities at q, with respect to q divided by the largest λ. Relative error: 1e-13, for any gaps between
/// the levels and next to any of them. Cost: 20 to 1,000 nodes (few for large e), each about 30 ns per group
/// and 1 ns per pair of groups.
class SphereContour {
 public:
  SphereContour(const SphereSpectrum& spectrum, const SpherePlace& place);

  /// The logarithm of the density for the product 1, up to a factor of order 1 in the density; cheap.
  double log_size() const { return log_top_ + std::log(height_); }

  /// Adds weight times the densities; the coarser ones from every other node of the contour.
  void add_to(QueryNode& node, double weight) const;

 private:
  void find_saddle();

  const SphereSpectrum& spectrum_;
  Vector distances_;  ///< λ - q
  Vector variances_;  ///< D at the saddle point
  Vector rates_;      ///< D = variance/(1 - i rate Im u)
  double height_ = 0, log_top_ = 0;
};

// Queries uniform on a sphere: a rule for averages of f(s²) times forms of the query, for every f at once.
//
// z = r θ, in coordinates in which the spread of the scores is s² = Q = Σ λ_j θ_j². A Gaussian g in R^e has a
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
// q = λ_j + (λ_{j+1} - λ_j)/(1 + e^{-x}): the whole real axis outside the interval, with the other λ's,
// however close, then lies at |Im x| = π. Distances to the λ's are sums of positive terms, so gaps of any
// size keep all their digits.

/// Nodes for z uniform on the sphere of the given radius in R^e, e >= 1; `scores` maps z to a, s² = |a|², and
/// W, G, WG are symmetric. Σ f(square) fine[k] = E[f(s²) product_k] for f of at most exponential slope 4 in
/// s² and smooth on the scale of 1 in s, like all statistics of the softmax. Error relative to E|f product|:
/// usually 1e-13, at most 1e-10, for any eigenvalues, equal, nearly equal or zero. Fine and coarse differ
/// only by the step of the contour, by at most 1e-11, and not at all for e <= 2 or if all queries have the
/// same s² (then there is one node; at s² = 0 its forms of a are zero). Nodes: 60 to 270 for each interval
/// between distinct eigenvalues, 1,000 for one over which s changes by 30. Cost: 30 to 160 ms for e <= 8, 0.4
/// to 1 s for e = 30, 5 s for e = 100. Throws Stopped.
std::vector<QueryNode> sphere_query_nodes(double radius, const Matrix& scores, const Matrix& W,
                                          const Matrix& G, const Matrix& WG, const Execution& execution = {});

}  // namespace largo::exact
