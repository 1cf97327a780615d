// The tokens of a collapsed prompt (collapsed_kernel.hpp) and the results from their sums, for CPU and GPU.
#pragma once

#include <cstddef>
#include <cstdint>
#include <numbers>

#include "prompts/prompt_layout.hpp"
#include "runtime/host_device.hpp"

namespace largo::prompts {

/// Sums over the tokens with weights p_i = e^{s g_i}/Σ_j e^{s g_j}.
struct CollapsedSums {
  double g = 0, h = 0;       ///< Σ p g, Σ p h
  double vg = 0, vh = 0;     ///< Σ p (v - v̄) g, Σ p (v - v̄) h
  double p2 = 0;             ///< Σ p²
  double p2v = 0, p2vv = 0;  ///< Σ p² (v - v̄), Σ p² (v - v̄)²
};

/// Sums over the tokens with weights w, in the order in which they are kept.
enum CollapsedSum : std::size_t { kW, kWG, kWH, kWVG, kWVH, kW2, kW2V, kW2VV, kCollapsedSums };

/// The weight of a token is w = 2^{rate (g - top)}, its value v = αG + βh with G = g - shift.
struct CollapsedToken {
  float rate, top, shift, alpha, beta;
};

struct CollapsedSetting {
  CollapsedToken token;
  double size;  // unit of the values, chosen so that none of their squares leaves the range of float32
  bool fixed;   // whether the weights need no reference
};

LARGO_HOST_DEVICE CollapsedSetting collapsed_setting(std::int64_t L, double s, double alpha, double beta) {
  // The shift is near the likely mean of g, so that little cancels later.
  const auto bits = static_cast<double>(runtime::bits_of(static_cast<std::uint64_t>(L)));  // ~ ln L / ln 2
  const double shift = runtime::smaller_of(s, runtime::root(2 * std::numbers::ln2 * bits));
  const double larger = runtime::larger_of(runtime::size_of_number(alpha), runtime::size_of_number(beta));
  const double size = larger > 0 ? larger : 1;
  const double rate = s * std::numbers::log2e;
  return {{static_cast<float>(rate), 0, static_cast<float>(shift), static_cast<float>(alpha / size),
           static_cast<float>(beta / size)},
          size,
          rate <= kFixedRate};
}

/// Normalises and centres the sums over all tokens.
LARGO_HOST_DEVICE CollapsedSums collapsed_sums(const CollapsedSetting& setting, std::int64_t L,
                                               const double (&total)[kCollapsedSums]) {
  const double size = setting.size;
  const double inverse = 1 / total[kW];
  CollapsedSums sums;
  const double G = total[kWG] * inverse;
  sums.g = G + double{setting.token.shift};
  sums.h = total[kWH] * inverse;
  // The mean of αG + βh, the values in units of `size`, of which the totals are sums too.
  const double v = double{setting.token.alpha} * G + double{setting.token.beta} * sums.h;
  sums.vg = size * (total[kWVG] * inverse - v * G);
  sums.vh = size * (total[kWVH] * inverse - v * sums.h);
  const double inverse2 = inverse * inverse;
  const double p2v = total[kW2V] * inverse2;
  sums.p2 = total[kW2] * inverse2;
  sums.p2v = size * (p2v - v * sums.p2);
  const double p2vv = total[kW2VV] * inverse2;
  const double around_v = p2vv - v * (2 * p2v - v * sums.p2);
  // A remainder below the rounding errors of float32 is taken as zero: a single token has no spread.
  sums.p2vv = around_v > 0x1p-20 * p2vv ? size * size * around_v : 0;
  if (L == 1) sums.vg = sums.vh = sums.p2v = sums.p2vv = 0;
  return sums;
}

}  // namespace largo::prompts
