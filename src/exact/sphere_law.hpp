// The law of θᵀΛθ and forms of θ for θ uniform on a sphere: its spectrum, and the density at a place between
// two eigenvalues by an integral over a contour (sphere_queries.hpp).
#pragma once

#include <cmath>

#include "exact/query_law.hpp"

namespace largo {

/// The forms, in coordinates in which s² is diagonal, by groups of equal eigenvalues.
struct SphereSpectrum {
  double radius_square = 0;
  double largest = 0;  ///< of the λ
  double contour_step = 0;
  Vector levels;  ///< the distinct λ over the largest, from below
  Vector counts;
  Vector W, G, WG;  ///< traces of the forms within a group
  Matrix product;   ///< tr W_gh G_hg

  double size() const { return counts.sum(); }

  /// From 1, w, g, h and w g.
  FormProducts products(double one, double w, double g, double h, double wg) const {
    const double Z = radius_square;
    return {one, w, g, Z * one, Z * w, Z * g, Z * h, Z * wg};
  }
};

SphereSpectrum sphere_spectrum(double radius, const Matrix& scores, const Matrix& W, const Matrix& G,
                               const Matrix& WG);

/// Errors of trapezoidal rules are to be about e^-kSphereDigits.
inline constexpr double kSphereDigits = 28;

/// τ with |Γ(α + iτ)| = e^-kSphereDigits Γ(α), by Stirling's formula: 2π/τ is the step for e^{-αx - e^{-x}},
/// the model of an integrand that falls like a power of e^{-x} and much faster on the other side.
double needed_frequency(double alpha);

/// A place between two neighbours among the levels, by its distances to both.
struct SpherePlace {
  Eigen::Index interval = 0;
  double lower = 0, upper = 0;
};

/// Densities at q, with respect to q over the largest λ. Error: 1e-13 relatively, for any gaps between the
/// levels and next to any of them. Cost: 20 to 1,000 nodes (few for large e), each some 30 ns for a group and
/// 1 ns for a pair of groups.
class SphereContour {
 public:
  SphereContour(const SphereSpectrum& spectrum, const SpherePlace& place);

  /// Of the density for the product 1, up to a factor of the order 1; cheap.
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

}  // namespace largo
