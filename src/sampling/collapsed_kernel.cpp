#include "sampling/collapsed_kernel.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "sampling/collapsed_kernel.cpp"
#include "hwy/foreach_target.h"  // must precede highway.h
#include "hwy/highway.h"

#include "largo/numerics/simd_level.hpp"
#include "numerics/simd_exp_log-inl.hpp"

#ifndef LARGO_COLLAPSED_KERNEL_SUMS
#define LARGO_COLLAPSED_KERNEL_SUMS
namespace largo {
// In the order in which Accumulate stores them, each as kTokensAtOnce partial sums.
enum : std::size_t { kW, kWG, kWH, kWV, kWVG, kWVH, kW2, kW2V, kW2VV, kSums };
}  // namespace largo
#endif

HWY_BEFORE_NAMESPACE();
namespace largo {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

using DF = hn::CappedTag<float, kTokensAtOnce>;
using V = hn::Vec<DF>;
constexpr std::size_t kFloats = hn::MaxLanes(DF());

// Of the first `count` values; the rest of the last group is ignored.
float Largest(const float* HWY_RESTRICT values, std::size_t count) {
  const DF d;
  V largest = hn::Set(d, values[0]);
  std::size_t i = 0;
  for (; i + kFloats <= count; i += kFloats) largest = hn::Max(largest, hn::Load(d, values + i));
  float result = hn::GetLane(hn::MaxOfLanes(d, largest));
  for (; i < count; ++i) result = std::max(result, values[i]);
  return result;
}

// Σ over tokens of w, wG, wh, wv, wvG, wvh, and of w², w²v, w²v², wherein w = 2^{rate (g - top)}, G = g -
// shift, v = αG + βh. Token i goes to partial sum i mod 8, at every level.
void Accumulate(const float* HWY_RESTRICT g, const float* HWY_RESTRICT h, std::size_t count, float rate,
                float top, float shift, float alpha, float beta, float* HWY_RESTRICT sums) {
  const DF d;
  for (std::size_t lane = 0; lane < kTokensAtOnce; lane += kFloats) {
    V w_sum = hn::Zero(d), g_sum = hn::Zero(d), h_sum = hn::Zero(d), v_sum = hn::Zero(d),
      vg_sum = hn::Zero(d);
    V vh_sum = hn::Zero(d), w2_sum = hn::Zero(d), w2v_sum = hn::Zero(d), w2vv_sum = hn::Zero(d);
    const auto add = [&](std::size_t i, auto weight_of) HWY_ATTR {
      const V g_i = hn::Load(d, g + i);
      const V h_i = hn::Load(d, h + i);
      const V G = hn::Sub(g_i, hn::Set(d, shift));
      const V w = weight_of(Exp2<Separate>(d, hn::Mul(hn::Set(d, rate), hn::Sub(g_i, hn::Set(d, top)))));
      const V v = hn::Add(hn::Mul(hn::Set(d, alpha), G), hn::Mul(hn::Set(d, beta), h_i));
      const V wv = hn::Mul(w, v);
      w_sum = hn::Add(w_sum, w);
      g_sum = hn::Add(g_sum, hn::Mul(w, G));
      h_sum = hn::Add(h_sum, hn::Mul(w, h_i));
      v_sum = hn::Add(v_sum, wv);
      vg_sum = hn::Add(vg_sum, hn::Mul(wv, G));
      vh_sum = hn::Add(vh_sum, hn::Mul(wv, h_i));
      w2_sum = hn::Add(w2_sum, hn::Mul(w, w));
      w2v_sum = hn::Add(w2v_sum, hn::Mul(w, wv));
      w2vv_sum = hn::Add(w2vv_sum, hn::Mul(wv, wv));
    };
    std::size_t i = lane;
    for (; i + kFloats <= count; i += kTokensAtOnce) add(i, [](V w) HWY_ATTR { return w; });
    if (i < count) {
      const auto inside = hn::Lt(hn::Iota(d, 0.0F), hn::Set(d, static_cast<float>(count - i)));
      add(i, [&](V w) HWY_ATTR { return hn::IfThenElseZero(inside, w); });
    }
    const V all[] = {w_sum, g_sum, h_sum, v_sum, vg_sum, vh_sum, w2_sum, w2v_sum, w2vv_sum};
    for (std::size_t k = 0; k < kSums; ++k) hn::Store(all[k], d, sums + k * kTokensAtOnce + lane);
  }
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace largo
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace largo {
namespace {
HWY_EXPORT(Largest);
HWY_EXPORT(Accumulate);

constexpr std::size_t kChunk = 256;  // tokens whose sums stay in float32

}  // namespace

CollapsedSums collapsed_sums(const DrawAddress& address, std::int64_t L, double s, double alpha,
                             double beta) {
  ensure_simd_level();
  alignas(64) float g[kChunk], h[kChunk];
  alignas(64) float partial[kSums * kTokensAtOnce];
  double total[kSums] = {};
  // Around the likely mean of g, so that little cancels later.
  const double shift = std::min(s, std::sqrt(2 * std::log(static_cast<double>(L))));
  const auto rate = static_cast<float>(s * std::numbers::log2e);
  float top = 0;  // of all chunks so far: weights are relative to it
  for (std::int64_t first = 0; first < L; first += kChunk) {
    const auto count = static_cast<std::size_t>(std::min<std::int64_t>(kChunk, L - first));
    const auto groups = (count + kTokensAtOnce - 1) / kTokensAtOnce;
    DrawAddress at = address;
    at.first += static_cast<std::uint64_t>(first) / kTokensAtOnce * kCountersAtOnce;
    token_normals(at, groups, g, h);
    const float chunk_top = HWY_DYNAMIC_DISPATCH(Largest)(g, count);
    HWY_DYNAMIC_DISPATCH(Accumulate)
    (g, h, count, rate, chunk_top, static_cast<float>(shift), static_cast<float>(alpha),
     static_cast<float>(beta), partial);

    if (first == 0) top = chunk_top;
    const double old_scale = chunk_top > top ? std::exp2(double{rate} * (double{top} - chunk_top)) : 1;
    const double new_scale = chunk_top > top ? 1 : std::exp2(double{rate} * (double{chunk_top} - top));
    top = std::max(top, chunk_top);
    for (std::size_t k = 0; k < kSums; ++k) {
      double sum = 0;
      for (std::size_t lane = 0; lane < kTokensAtOnce; ++lane)
        sum += double{partial[k * kTokensAtOnce + lane]};
      const int power = k >= kW2 ? 2 : 1;
      total[k] = total[k] * (power == 2 ? old_scale * old_scale : old_scale) +
                 sum * (power == 2 ? new_scale * new_scale : new_scale);
    }
  }

  const double inverse = 1 / total[kW];
  const double v = total[kWV] * inverse;  // of v - α shift, like all that follows
  CollapsedSums sums;
  const double G = total[kWG] * inverse;
  sums.g = G + shift;
  sums.h = total[kWH] * inverse;
  sums.vg = total[kWVG] * inverse - v * G;
  sums.vh = total[kWVH] * inverse - v * sums.h;
  const double inverse2 = inverse * inverse;
  sums.p2 = total[kW2] * inverse2;
  sums.p2v = total[kW2V] * inverse2 - v * sums.p2;
  sums.p2vv = total[kW2VV] * inverse2 - v * (2 * total[kW2V] * inverse2 - v * sums.p2);
  return sums;
}

}  // namespace largo
#endif  // HWY_ONCE
