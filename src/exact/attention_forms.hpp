// The errors of attention over Gaussian tokens as linear combinations of softmax statistics, whose
// coefficients depend on the direction e of the query alone.
//
// In whitened coordinates a token is m + R g, Γ = R Rᵀ, g ~ N(0, I). The scores depend on g along e = Rᵀa/s
// alone; so the weighted covariance Ĉ of the g's has the entry B along e, and given the weights its other
// entries are quadratic forms in normals that are independent of the weights. With W = RᵀVᵀVR and G = RᵀR,
// ‖V(C_p − Γ)‖² = tr (Ĉ − I) W (Ĉ − I) G, whose expectation needs E[(B−1)²], E[D], E[(B−1)P_2] and
// τ = E[P_2 − 2 P_3 + P_2²].
#pragma once

#include <cmath>

#include "largo/exact/softmax_moments.hpp"
#include "largo/exact/softmax_table.hpp"
#include "largo/runtime/matrix.hpp"

namespace largo::exact {

/// A linear combination of E[P_2], E[P_3], …, given by its coefficients.
struct MomentCombination {
  double P2 = 0, P3 = 0, P2P2 = 0, mse = 0, variance_mse = 0, variance_P2 = 0, squared_spread = 0;

  Estimate of(const SoftmaxMoments& m) const {
    Estimate sum;
    auto add = [&sum](double coefficient, const Estimate& x) {
      sum.value += coefficient * x.value;
      sum.error += std::abs(coefficient) * x.error;
    };
    add(P2, m.P2);
    add(P3, m.P3);
    add(P2P2, m.P2P2);
    add(mse, m.mse);
    add(variance_mse, m.variance_mse);
    add(variance_P2, m.variance_P2);
    add(squared_spread, m.squared_spread);
    return sum;
  }

  double of(const SoftmaxStatistics& m) const {
    return P2 * m.P2 + P3 * m.P3 + P2P2 * m.P2P2 + mse * m.mse + variance_mse * m.variance_mse +
           variance_P2 * m.variance_P2 + squared_spread * m.squared_spread;
  }

  /// The sum of the absolute values, by which the relative error of a table is to be multiplied.
  double size_of(const SoftmaxStatistics& m) const {
    return std::abs(P2) * m.P2 + std::abs(P3) * m.P3 + std::abs(P2P2) * m.P2P2 + std::abs(mse) * m.mse +
           std::abs(variance_mse) * m.variance_mse + std::abs(variance_P2) * m.P3 +
           std::abs(squared_spread) * m.squared_spread;
  }
};

/// W, G and their traces, for tokens of covariance R Rᵀ and values V.
struct AttentionForms {
  AttentionForms(const Matrix& R, const ConstMatrixRef& V)
      : W((V * R).transpose() * (V * R)),
        G(R.transpose() * R),
        WG(0.5 * (W * G + G * W)),
        W_trace(W.trace()),
        G_trace(G.trace()),
        WG_trace(WG.trace()),
        rows(static_cast<double>(V.rows())) {}

  Matrix W, G, WG;  ///< WG is the symmetric part of the product
  double W_trace, G_trace, WG_trace;
  double rows;  ///< number of rows of V
};

/// Values at a direction e, or averages over e (with a weight, whose average is `one`).
struct DirectionValues {
  double one = 1;
  double W = 0, G = 0, WG = 0;  ///< eᵀWe, eᵀGe, eᵀWGe
  double W_G = 0;               ///< eᵀWe eᵀGe
};

/// E‖V R (A − s)‖² with A the weighted mean of the g's.
inline MomentCombination output_combination(const AttentionForms& forms, const DirectionValues& at) {
  return {.P2 = at.one * forms.W_trace - at.W, .mse = at.W};
}

/// rows(V) times the output error with V = I.
inline MomentCombination value_gradient_combination(const AttentionForms& forms, const DirectionValues& at) {
  return {.P2 = forms.rows * (at.one * forms.G_trace - at.G), .mse = forms.rows * at.G};
}

/// E‖V (C_p − Γ)‖².
inline MomentCombination covariance_combination(const AttentionForms& forms, const DirectionValues& at) {
  const double cross = at.WG - at.W_G;  // W_re · G_re
  const double traces = at.one * forms.W_trace * forms.G_trace - forms.W_trace * at.G - at.W * forms.G_trace +
                        at.W_G;                                         // tr W_rr tr G_rr
  const double product = at.one * forms.WG_trace - 2 * at.WG + at.W_G;  // tr W_rr G_rr
  const double mixed =
      at.W * forms.G_trace + at.G * forms.W_trace - 2 * at.W_G;  // W_ee tr G_rr + G_ee tr W_rr
  return {.P2 = product + traces,
          .P3 = -2 * (product + traces),
          .P2P2 = 2 * product + traces,
          .variance_mse = at.W_G,
          .variance_P2 = -2 * cross,
          .squared_spread = 2 * cross + mixed};
}

}  // namespace largo::exact
