// The paper's bounds on the errors of prompts of L >= 2 tokens of a σ-sub-Gaussian law:
//
//   output, gradient in V   c1 σ⁶  ln L  / L^{c2/σ²}
//   gradient in U           c1 σ¹² ln² L / L^{c2/σ²}
//
// with constants that depend on the layer, not on σ or L. (At L = 1 they read zero, and the error is not: the
// bound is about L >= 2.) The paper states them for σ >> 1: for small σ errors are of the order σ²/L, which a
// bound σ⁶ ln L / L^{c2/σ²} with c2 > σ² does not stay above.
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
  double error = 0;        ///< what is to stay below the bound
  double uncertainty = 0;  ///< of `error`: it is above the bound if it is so by more than this
};

/// Domain: σ > 0, L >= 2.
double bound_value(const BoundShape& shape, const BoundConstants& constants, double sigma, double L);

/// The smallest bound of this shape above all points with L >= 2 and a positive error: the one with the
/// smallest mean of ln(bound/error), 0 <= c2 <= largest_c2. In the plane of x = ln L/σ² and
/// y = ln(error / σ^m ln^k L) it is the edge of the upper hull over the mean of x. None without two different
/// x, or if c1 is no double. (A larger c2 than σ² times the exponent of the error would fail for prompts
/// longer than those seen.)
std::optional<BoundConstants> fit_bound(const BoundShape& shape, std::span<const BoundPoint> points,
                                        double largest_c2 = std::numeric_limits<double>::infinity());

struct BoundVerdict {
  bool holds = true;
  std::size_t points = 0;  ///< that were looked at: L >= 2 and finite
  double worst_ratio = 0;  ///< the largest error/bound
  BoundPoint worst;        ///< where that is
};

BoundVerdict check_bound(const BoundShape& shape, const BoundConstants& constants,
                         std::span<const BoundPoint> points);

}  // namespace largo
