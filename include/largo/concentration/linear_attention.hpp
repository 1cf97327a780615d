// Linear attention at finite length: its own error, and when it can replace softmax attention.
//
// T_lin[μ̂_L](z) is an average of L independent terms V z' <z', a>, a = Uz. For tokens N(m, Γ), with
// α = <m, a>, s² = aᵀΓa and t = tr VΓVᵀ,
//
//   E‖T_lin[μ̂_L](z) − T_lin[μ](z)‖² = { s² (t + ‖Vm‖²) + ‖VΓa‖² + t α² + 2α <Vm, VΓa> } / L.
//
// For m = 0 softmax and linear attention have the same limit. Then E‖T[μ̂_L] − T_lin[μ̂_L]‖², which is
// LayerErrors::softmax_linear, falls to zero. In general their limits differ by (1 − α) V m. With D the mean
// squared difference for the centred tokens z' − m, and p = E[P_2],
//
//   E‖T[μ̂_L](z) − T_lin[μ̂_L](z)‖² = (1 − α)² ‖Vm‖² + D − 2p (1 − α) <Vm, VΓa>
//                                    + { s²‖Vm‖² + α (α − 2) t − 2 (1 − α) <Vm, VΓa> } / L.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "largo/concentration/attention_layer.hpp"
#include "largo/runtime/execution.hpp"

namespace largo {

/// The error of linear attention, averaged over the queries, for tokens `sigma` times those of the law.
/// Domain: Gaussian tokens (otherwise InputError), L >= 1 or ∞ (then zero). Exact to rounding.
double linear_attention_error(const AttentionLayer& layer, double L, double sigma = 1);

/// E‖T[μ̂_L](z) − T_lin[μ̂_L](z)‖² over the same tokens N(m, Γ), with any mean, at one query. For L = ∞, the
/// squared distance of the limits. Domain: Gaussian tokens, one query, otherwise InputError; L as in
/// ExactErrors. Relative error 1e-10 of the largest term. Cost: softmax_moments.
double softmax_linear_distance(const AttentionLayer& layer, double L);

struct ToleratedLength {
  double L = 1;      ///< a whole number
  double value = 0;  ///< E‖T[μ̂_L] − T_lin[μ̂_L]‖² at this L
};

/// Finds the shortest length at which the mean squared distance between softmax and linear attention over the
/// same tokens is at most `tolerance`. Returns nothing if that takes more than 1e300 tokens. Domain: centred
/// Gaussian tokens, queries with an exact formula (ExactErrors), tolerance > 0; otherwise InputError. The
/// length is exact below 1e9 and accurate to 1e-10 beyond. Cost: about 20 lengths of ExactErrors, on the
/// calling thread. Throws Stopped.
std::optional<ToleratedLength> length_for_tolerance(const AttentionLayer& layer, double tolerance,
                                                    double sigma = 1, const Execution& execution = {});

/// The same for many values of sigma, in parallel.
std::vector<std::optional<ToleratedLength>> lengths_for_tolerance(const AttentionLayer& layer,
                                                                  double tolerance,
                                                                  std::span<const double> sigmas,
                                                                  const Execution& execution = {});

/// Throws the InputError that the two functions above would throw, but does none of their work.
void check_tolerance(const AttentionLayer& layer, double tolerance);

}  // namespace largo
