// How long a prompt must be for attention and its gradients to be within a share of their limits.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "largo/attention/weights.hpp"
#include "largo/concentration/attention_layer.hpp"
#include "largo/runtime/execution.hpp"

namespace largo {

struct LengthWithin {
  std::string name;         ///< "output", "gradient_V", "gradient_U", "gradient_K" or "gradient_Q"
  double limit_square = 0;  ///< E‖limit‖² over the queries
  std::optional<double> L;  ///< a whole number; none if it is beyond 1e300, or if the limit is zero
  double relative = 0;      ///< √(E‖difference‖² / E‖limit‖²) at that L
  std::string missing;      ///< why there is no L; empty if there is one
};

/// For the output and each gradient, the smallest L with √E‖difference‖² <= share √E‖limit‖², where the means
/// are over prompts and queries, and the limit is that of the infinite prompt. Gradients in K and Q are there
/// if `factors` are given, whose product is then the layer's U. A quantity without exact errors says so.
/// Domain: layers with exact errors (ExactErrors) and without planted tokens, beside which errors may grow
/// with L; share > 0; otherwise InputError. Errors are taken to fall with L, as far as growing steps see.
/// Error: L is exact below 1e9, and accurate to 1e-10 beyond. Cost: about 20 values of the errors for each
/// quantity.
std::vector<LengthWithin> lengths_within(const AttentionLayer& layer,
                                         const std::optional<FactoredWeights>& factors, double share,
                                         double sigma = 1, const Execution& execution = {});

/// Throws the InputError that lengths_within() would throw, but does none of its work.
void check_within(const AttentionLayer& layer, double share);

}  // namespace largo
