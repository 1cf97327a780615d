// The exponent c of the error of long prompts, error = L^{-c} up to powers of ln L (docs/concentration.md).
#pragma once

#include <optional>

#include "largo/concentration/attention_layer.hpp"

namespace largo {

struct AsymptoticExponent {
  double value = 1;
  /// σ, the largest deviation of the scores over the queries, for Gaussian tokens and queries:
  /// ‖Γ^{1/2} U Σ_q^{1/2}‖; then value = averaged_exponent(σ).
  std::optional<double> spread;
};

/// For tokens `scale` times those of the law. Bounded queries (one, a prompt of them, spheres, products of
/// bounded coordinates, images and mixtures of these) and any tokens: 1. Gaussian tokens, and queries that
/// are Gaussian, of any mean and covariance, or elliptical Gaussian, or images and mixtures of these: that of
/// the largest σ among the components (an elliptical one at its largest radius). Others: not known.
std::optional<AsymptoticExponent> asymptotic_exponent(const AttentionLayer& layer, double scale = 1);

}  // namespace largo
