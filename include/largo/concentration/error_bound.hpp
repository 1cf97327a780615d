// The paper's bounds on the errors of prompts of L >= 2 tokens of a σ-sub-Gaussian law:
//
//   output, gradient in V   c1 σ⁶  ln L  / L^{c2/σ²}
//   gradient in U           c1 σ¹² ln² L / L^{c2/σ²}
//
// with constants that depend on the layer, but not on σ or L. At L = 1 these expressions are zero and the
// error is not, so the bounds are stated for L >= 2. The paper states them for σ >> 1. For small σ the errors
// are of the order σ²/L, and a bound σ⁶ ln L / L^{c2/σ²} with c2 > σ² does not stay above them.
#pragma once

#include <cstddef>
#include <limits>
#include <optional>
#include <span>

namespace largo {

/// c1 σ^sigma_power (ln L)^log_power / L^{c2/σ²}
struct BoundShape {
  int sigma_power, log_power;
};
inline constexpr BoundShape kOutputBound{6, 1};
inline constexpr BoundShape kGradientVBound{6, 1};
inline constexpr BoundShape kGradientUBound{12, 2};

struct BoundConstants {
  double c1 = 0, c2 = 0;
};

struct BoundPoint {
  double sigma = 1, L = 2;
  double error = 0;        ///< the error that must stay below the bound
  double uncertainty = 0;  ///< an error above the bound by no more than this still counts as below
};

/// Domain: σ > 0, L >= 2.
double bound_value(const BoundShape& shape, const BoundConstants& constants, double sigma, double L);

/// Fits the smallest bound of this shape that lies above all points with L >= 2 and a positive error: the one
/// with the smallest mean of ln(bound/error), subject to 0 <= c2 <= largest_c2. In the plane of x = ln L/σ²
/// and y = ln(error / σ^m ln^k L) it is the edge of the upper hull over the mean of x. Returns nothing unless
/// there are two different x, or if c1 is outside the range of doubles. (A c2 larger than σ² times the
/// exponent of the error would fail for prompts longer than those seen.)
std::optional<BoundConstants> fit_bound(const BoundShape& shape, std::span<const BoundPoint> points,
                                        double largest_c2 = std::numeric_limits<double>::infinity());

struct BoundVerdict {
  bool holds = true;
  std::size_t points = 0;  ///< number of points checked: those with L >= 2 and finite
  double worst_ratio = 0;  ///< the largest error/bound
  BoundPoint worst;        ///< the point with that ratio
};

BoundVerdict check_bound(const BoundShape& shape, const BoundConstants& constants,
                         std::span<const BoundPoint> points);

}  // namespace largo
