// One token of a collapsed prompt (src/sampling/collapsed_kernel.cpp), and what its sums give.
#pragma once

#include <bit>

#include "portable.cuh"
#include "sampling/draw_constants.hpp"
#include "sampling/float_draws.hpp"

namespace largo::cuda {

/// Lanes of partial sums: token i goes to lane i mod kLanes.
inline constexpr int kLanes = static_cast<int>(kTokensAtOnce);
/// The same for the sums of src/sampling/token_sums.hpp and src/sampling/score_sums.hpp.
inline constexpr int kSumsChunk = 256;
enum CollapsedSum : int { kW, kWG, kWH, kWVG, kWVH, kW2, kW2V, kW2VV, kCollapsedSums };

inline constexpr double kLog2E = 1.442695040888963407359924681001892137,
                        kLn2 = 0.693147180559945309417232121458176568;

/// 2^{rate x} for |rate x| < 126; kUnderflow: for rate x <= 0, with zero from -125.5 down.
template <bool kUnderflow>
LARGO_HOST_DEVICE float weight(float rate, float x) {
  constexpr float kRound = 0x1.8p23F;
  const float n = fused(rate, x, kRound);
  const float r = fused(rate, x, kRound - n);
  const float rr = r * r;
  float even = fused(rr, 0x1.5d9662p-10F, 0x1.c6b476p-5F);
  float odd = fused(rr, 0x1.3d1166p-7F, 0x1.ebf958p-3F);
  even = fused(rr, even, 0x1.62e42ap-1F);
  odd = fused(rr, odd, 1.0F);
  const float mantissa = fused(r, even, odd);
  const float y = bits_as<float>(bits_as<std::uint32_t>(mantissa) + (bits_as<std::uint32_t>(n) << 23));
  return kUnderflow && !(n > kRound - 126.0F) ? 0.0F : y;
}

/// The weight of a token is 2^{rate (g - top)}, its value v = αG + βh with G = g - shift.
struct CollapsedToken {
  float rate, top, shift, alpha, beta;
};

/// Adds the token (g, h) of weight w to the partial sums of its lane.
LARGO_HOST_DEVICE void add_token(const CollapsedToken& token, float g, float h, float w,
                                 float (&sum)[kCollapsedSums]) {
  const float G = g - token.shift;
  const float v = fused(token.alpha, G, token.beta * h);
  const float wv = w * v;
  sum[kW] = sum[kW] + w;
  sum[kWG] = fused(w, G, sum[kWG]);
  sum[kWH] = fused(w, h, sum[kWH]);
  sum[kWVG] = fused(wv, G, sum[kWVG]);
  sum[kWVH] = fused(wv, h, sum[kWVH]);
  sum[kW2] = fused(w, w, sum[kW2]);
  sum[kW2V] = fused(w, wv, sum[kW2V]);
  sum[kW2VV] = fused(wv, wv, sum[kW2VV]);
}

/// What a prompt is drawn with.
struct CollapsedSetting {
  CollapsedToken token;
  double size;  // that values are relative to
  bool fixed;   // weights need no reference
};

LARGO_HOST_DEVICE int bit_width(std::uint64_t x) {
#ifdef __CUDA_ARCH__
  return 64 - __clzll(static_cast<long long>(x));
#else
  return static_cast<int>(std::bit_width(x));
#endif
}

LARGO_HOST_DEVICE CollapsedSetting collapsed_setting(std::int64_t L, double s, double alpha, double beta) {
  const auto bits = static_cast<double>(bit_width(static_cast<std::uint64_t>(L)));
  const double shift = smaller_of(s, root(2 * kLn2 * bits));
  const double larger = larger_of(size_of_number(alpha), size_of_number(beta));
  const double size = larger > 0 ? larger : 1;
  const double rate = s * kLog2E;
  return {{static_cast<float>(rate), 0, static_cast<float>(shift), static_cast<float>(alpha / size),
           static_cast<float>(beta / size)},
          size,
          rate <= kFixedRate};
}

/// What the sums so far and those of the next chunk are multiplied by, when the largest draw so far is `top`.
struct Scales {
  double old_scale = 1, new_scale = 1;
};
LARGO_HOST_DEVICE Scales scales(const CollapsedToken& token, float top) {
  const double difference = kLn2 * double{token.rate} * (double{token.top} - double{top});
  return {difference > 0 ? exponential(-difference) : 1, difference > 0 ? 1 : exponential(difference)};
}

/// As in src/sampling/collapsed_kernel.hpp.
struct CollapsedSums {
  double g, h, vg, vh, p2, p2v, p2vv;
};

/// From the totals over all lanes.
LARGO_HOST_DEVICE CollapsedSums collapsed_sums(const CollapsedSetting& setting, std::int64_t L,
                                               const double (&total)[kCollapsedSums]) {
  const double inverse = 1 / total[kW];
  CollapsedSums sums;
  const double G = total[kWG] * inverse;
  sums.g = G + double{setting.token.shift};
  sums.h = total[kWH] * inverse;
  const double v = double{setting.token.alpha} * G + double{setting.token.beta} * sums.h;
  sums.vg = setting.size * (total[kWVG] * inverse - v * G);
  sums.vh = setting.size * (total[kWVH] * inverse - v * sums.h);
  const double inverse2 = inverse * inverse;
  const double p2v = total[kW2V] * inverse2;
  sums.p2 = total[kW2] * inverse2;
  sums.p2v = setting.size * (p2v - v * sums.p2);
  const double p2vv = total[kW2VV] * inverse2;
  const double around_v = p2vv - v * (2 * p2v - v * sums.p2);
  sums.p2vv = around_v > 0x1p-20 * p2vv ? setting.size * setting.size * around_v : 0;
  if (L == 1) sums.vg = sums.vh = sums.p2v = sums.p2vv = 0;
  return sums;
}

}  // namespace largo::cuda
