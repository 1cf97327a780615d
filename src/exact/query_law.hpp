// The law of the spread of the scores over Gaussian queries, together with quadratic forms of the query.
//
// The queries are z = z_0 + S y and the scores a = a_0 + N y, with y ~ N(μ, I) in coordinates in which
// NᵀN = diag(λ) and Nᵀa_0 = 0, so that s² = |a_0|² + Q, Q = Σ λ_j y_j². Tilting by e^{uQ} keeps y Gaussian,
// with variances D_j = 1/(1 - 2uλ_j) and means D_j μ_j. So for a product M of quadratic forms, whose mean
// under the tilt follows from their cumulants,
//
//   E[M; Q = q] dq = dq/2πi ∫ e^{-uq} ∏ √D_j e^{μ_j² (D_j - 1)/2} E_u[M] du.
//
// The contour, in ζ = 1 - 2λu with λ the largest of the λ_j, is a hyperbola through the saddle point (or to
// its right) that opens around the singularities, all at ζ <= 0: ζ = ζ_0 + A (1 - cosh w) + iB sinh w. Seen
// from ζ_0, its points lie within φ = arctan A/B of the vertical. Along a ray at such an angle the modulus of
// the integrand falls all the way, if φ <= 45°: the saddle point equation splits the rate of e^{ζ q/2λ} into
// one share for each singularity, at a distance X to the left of ζ_0. With τ the length of the ray in units
// of X, a share and its singularity together make
//   exp of (M/X) (-τ² cos 2φ - τ³ sin φ)/(1 - 2τ sin φ + τ²)        for e^{M/(ζ - ζ_j)},
//   exp of -(log(1 - 2τ sin φ + τ²))/4 - (τ sin φ)/2                for (ζ - ζ_j)^{-1/2}.
// Neither exponent is positive. So nothing cancels, whatever the λ_j and μ_j are and however far out q is,
// and the trapezoidal rule in w converges exponentially.
#pragma once

#include <array>
#include <complex>

#include "largo/runtime/execution.hpp"
#include "largo/runtime/matrix.hpp"

namespace largo::exact {

/// Below this, s² counts as zero and is not inverted.
inline constexpr double kNoSpread = 1e-200;

/// c + 2 bᵀy + yᵀAy
struct QuadraticForm {
  QuadraticForm(const Matrix& M, const Vector& origin, const Matrix& map)
      : A(map.transpose() * M * map), b(map.transpose() * (M * origin)), c(origin.dot(M * origin)) {}
  Matrix A;
  Vector b;
  double c;
};

/// The products 1, w, g and, with a factor |z|², 1, w, g, h, w g, where w, g, h are the forms of a with three
/// matrices.
enum : std::size_t { kOne, kW, kG, kZ, kZW, kZG, kZH, kZWG, kFormProducts };
using FormProducts = std::array<double, kFormProducts>;

/// A node of a rule over queries: Σ f(square) fine[k] is the average of f(s²) times product k.
struct QueryNode {
  double square = 0;              ///< s²
  FormProducts fine{}, coarse{};  ///< including the weight; coarse is less accurate, for an error estimate
};

class QueryLaw {
 public:
  /// Queries mean + root x, x ~ N(0, I); `scores` maps a query to a.
  QueryLaw(const Vector& mean, const Matrix& root, const Matrix& scores, const Matrix& W, const Matrix& G,
           const Matrix& WG);

  double smallest_square() const { return smallest_square_; }  ///< |a_0|²
  double largest() const { return largest_; }                  ///< λ
  double smallest_ratio() const { return smallest_ratio_; }    ///< the smallest λ_j > 0 over λ
  int rank() const { return rank_; }                           ///< number of λ_j > 0; zero: s² is constant
  /// √(Q/λ) lies above `highest + t`, or below `lowest - t`, with a probability of at most e^{-t²/2} each.
  double highest() const { return highest_; }
  double lowest() const { return lowest_; }

  /// Densities at Q = q > 0, and the same from every other node of the contour: the difference is well above
  /// the error of the finer ones. Throws Stopped.
  struct Densities {
    FormProducts fine{}, coarse{};
  };
  Densities densities(double q, const Execution& execution = {}) const;

  /// Averages over all queries.
  FormProducts averages() const;

 private:
  using ComplexVector = Eigen::VectorXcd;
  using Products = std::array<std::complex<double>, kFormProducts>;
  Products tilted_products(const ComplexVector& D) const;
  double saddle_point(double q) const;

  struct Rotated {
    Matrix basis;  ///< right singular vectors of scores * root
    Matrix map;    ///< y to scores
    Vector squares;
    Vector mean;    ///< μ
    Vector origin;  ///< z_0
    Vector scores;  ///< a_0
  };
  static Rotated rotate(const Vector& mean, const Matrix& root, const Matrix& scores);
  QueryLaw(const Rotated& rotated, const Matrix& root, const Matrix& W, const Matrix& G, const Matrix& WG);

  Vector mu_, ratio_;  ///< μ, λ/largest
  double largest_, smallest_square_, highest_, lowest_;
  double smallest_ratio_ = 1;
  int rank_;
  QuadraticForm W_, G_, WG_, Z_;
};

}  // namespace largo::exact
