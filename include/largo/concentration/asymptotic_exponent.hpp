// The exponent c of the error of long prompts, error = L^{-c} up to powers of ln L (docs/concentration.md).
#pragma once

#include <optional>

#include "largo/concentration/attention_layer.hpp"

namespace largo {

struct AsymptoticExponent {
  double value = 1;
  /// σ = ‖Γ^{1/2} U Σ_q^{1/2}‖, the largest standard deviation of the scores over the queries. Set for
  /// Gaussian tokens and queries; then value = averaged_exponent(σ).
  std::optional<double> spread;
};

/// The exponent for tokens that are `sigma` times those of the law. It is 1 for bounded queries and any
/// tokens. (Bounded queries: one query, a prompt of them, spheres, products of bounded coordinates, and
/// images and mixtures of these.) It is also known for Gaussian tokens with queries that are Gaussian (any
/// mean and covariance), elliptical Gaussian, or images and mixtures of these: the component with the largest
/// σ decides, and an elliptical component counts at its largest radius. For all other layers it is not known,
/// and with planted tokens only for bounded queries, if the values of the tokens vary.
std::optional<AsymptoticExponent> asymptotic_exponent(const AttentionLayer& layer, double sigma = 1);

}  // namespace largo
