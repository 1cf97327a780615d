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

/// For tokens `scale` times those of the law. Bounded queries (one query, a prompt, a sphere or ball) and any
/// tokens: 1. Gaussian tokens and queries of any covariances and means: averaged_exponent. Gaussian tokens
/// and a mixture of these as queries: the smallest of its components. Others: not known.
std::optional<AsymptoticExponent> asymptotic_exponent(const AttentionLayer& layer, double scale = 1);

}  // namespace largo
