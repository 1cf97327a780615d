// Tilts from their definition, in 50 digits: ∫ (1, z, zzᵀ) e^{<a,z>} dμ(z) as a sum over atoms or a
// quadrature in one or two real variables. The oracle shares neither code nor closed forms with the library.
// MPFR stays inside oracle.cpp: results are rounded to double.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "largo/runtime/matrix.hpp"

namespace largo::test {

/// The tilt that a law must have.
struct Expected {
  double log_partition;
  Vector mean;
  Matrix covariance;
};

struct WideVector;
struct Moments;

class Oracle {
 public:
  virtual ~Oracle() = default;
  virtual Moments moments(const WideVector& direction) const = 0;
};
using OraclePtr = std::shared_ptr<const Oracle>;

Expected expected_tilt(const Oracle& law, const Vector& direction);

/// Σ p_l δ_{z_l}, one atom per row; weights need not sum to one.
OraclePtr atoms(const RowMatrix& tokens, const Vector& weights);

/// One real variable: atoms, plus a density e^{rate x} on pieces of the line. Masses are normalised.
struct LineAtom {
  double at;
  double mass;
};
struct LinePiece {
  double low;
  double high;
  double rate;
};
struct Line {
  std::vector<LineAtom> atoms;
  std::vector<LinePiece> pieces;
  double offset = 0;  ///< added to the variable, to centre it
};
OraclePtr independent(const std::vector<Line>& coordinates);

OraclePtr gaussian(const Vector& mean, const Matrix& covariance);
OraclePtr sphere(std::ptrdiff_t dimension, double radius);
OraclePtr ball(std::ptrdiff_t dimension, double radius);

/// √W Γ^{1/2} x, where W has atoms or is uniform (one piece of rate 0), and x is Gaussian or on the sphere of
/// radius √d.
OraclePtr elliptical_gaussian(const Matrix& shape, const Line& radial);
OraclePtr elliptical_sphere(const Matrix& shape, const Line& radial);

OraclePtr affine(const Matrix& map, const Vector& offset, const OraclePtr& base);
OraclePtr mixture(const Vector& weights, const std::vector<OraclePtr>& components);

/// Λ_n, Λ_n', Λ_n'' and Λ_n'/x of sphere_functions.hpp, from the power series of the Bessel function in 100
/// digits; for n = 1, from cosh.
struct SphereReference {
  double value;
  double derivative;
  double second_derivative;
  double derivative_over_x;
};
SphereReference sphere_reference(double n, double x);

}  // namespace largo::test
