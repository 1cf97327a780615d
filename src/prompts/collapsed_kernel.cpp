#include "prompts/collapsed_kernel.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "prompts/collapsed_kernel.cpp"
#include "hwy/foreach_target.h"  // must precede highway.h
#include "hwy/highway.h"

#include "largo/numerics/simd_level.hpp"
#include "largo/runtime/check.hpp"
#include "numerics/portable_math.hpp"
#include "numerics/simd_math-inl.hpp"
#include "prompts/kernel-inl.hpp"
#include "runtime/distribute.hpp"

#ifndef LARGO_COLLAPSED_KERNEL_SUMS
#define LARGO_COLLAPSED_KERNEL_SUMS
namespace largo::prompts {
// The sums over all chunks so far, in float64: kTokensAtOnce partial sums of each kind.
struct CollapsedTotals {
  alignas(64) double lanes[kCollapsedSums * random::kTokensAtOnce] = {};
  // Factors for the sums so far and for those of the next chunk; sums of w² take their squares.
  double old_scale = 1, new_scale = 1;
};
}  // namespace largo::prompts
#endif

HWY_BEFORE_NAMESPACE();
namespace largo::HWY_NAMESPACE {
namespace {

using namespace tokens;
using D64 = hn::CappedTag<double, 4>;
constexpr std::size_t kGroups = 4;  // groups of tokens whose exponentials are computed together

// Replaces x by 2^{rate x} for |rate x| < 126, with relative error 2^-21.8. With kUnderflow: for rate x <= 0,
// with zero from -125.5 down. Several vectors take each step together, to hide latencies.
template <bool kUnderflow, std::size_t kCount>
HWY_INLINE void Weights(V rate, V (&x)[kCount]) {
  // (2^r - 1)/r on |r| <= 1/2; the error of 2^r is 2^-23.0
  static constexpr float kC[] = {0x1.62e42ap-1F, 0x1.ebf958p-3F, 0x1.c6b476p-5F, 0x1.3d1166p-7F,
                                 0x1.5d9662p-10F};
  const DF d;
  const DU du;
  const V round = hn::Set(d, numerics::ExpConstants<float>::kRound);
  V n[kCount], r[kCount], rr[kCount], even[kCount], odd[kCount];
  for (std::size_t i = 0; i < kCount; ++i) n[i] = FusedExact::MulAdd(rate, x[i], round);
  for (std::size_t i = 0; i < kCount; ++i) r[i] = FusedExact::MulAdd(rate, x[i], hn::Sub(round, n[i]));
  for (std::size_t i = 0; i < kCount; ++i) rr[i] = hn::Mul(r[i], r[i]);
  for (std::size_t i = 0; i < kCount; ++i) {
    even[i] = FusedExact::MulAdd(rr[i], hn::Set(d, kC[4]), hn::Set(d, kC[2]));
    odd[i] = FusedExact::MulAdd(rr[i], hn::Set(d, kC[3]), hn::Set(d, kC[1]));
  }
  for (std::size_t i = 0; i < kCount; ++i) {
    even[i] = FusedExact::MulAdd(rr[i], even[i], hn::Set(d, kC[0]));
    odd[i] = FusedExact::MulAdd(rr[i], odd[i], hn::Set(d, 1.0F));
  }
  for (std::size_t i = 0; i < kCount; ++i) {
    const V mantissa = FusedExact::MulAdd(r[i], even[i], odd[i]);
    const auto exponent = hn::ShiftLeft<numerics::ExpConstants<float>::kMantissaBits>(hn::BitCast(du, n[i]));
    const V y = hn::BitCast(d, hn::Add(hn::BitCast(du, mantissa), exponent));
    x[i] = kUnderflow ? hn::IfThenElseZero(hn::Gt(n[i], hn::Sub(round, hn::Set(d, 126.0F))), y) : y;
  }
}

// Partial sums over the tokens of w, wG, wh, wvG, wvh and of w², w²v, w²v². At every SIMD level token i is
// added to partial sum i mod 8, in order. With kFixed, top is 0 and |rate g| < 126.
template <bool kFixed>
HWY_INLINE void AccumulateTokens(const float* HWY_RESTRICT g, const float* HWY_RESTRICT h, std::size_t count,
                                 const CollapsedToken& token, CollapsedTotals& totals) {
  alignas(64) float sums[kCollapsedSums * random::kTokensAtOnce];
  const DF d;
  const V rate = hn::Set(d, token.rate), shift = hn::Set(d, token.shift);
  const V alpha = hn::Set(d, token.alpha), beta = hn::Set(d, token.beta);
  for (std::size_t lane = 0; lane < random::kTokensAtOnce; lane += kFloats) {
    V sum[kCollapsedSums];
    for (V& s : sum) s = hn::Zero(d);
    const auto below_top = [&](std::size_t i) HWY_ATTR {
      const V g_i = hn::Load(d, g + i);
      return kFixed ? g_i : hn::Sub(g_i, hn::Set(d, token.top));
    };
    const auto add = [&](std::size_t i, V w) HWY_ATTR {
      const V h_i = hn::Load(d, h + i);
      const V G = hn::Sub(hn::Load(d, g + i), shift);
      const V v = FusedExact::MulAdd(alpha, G, hn::Mul(beta, h_i));
      const V wv = hn::Mul(w, v);
      sum[kW] = hn::Add(sum[kW], w);
      sum[kWG] = FusedExact::MulAdd(w, G, sum[kWG]);
      sum[kWH] = FusedExact::MulAdd(w, h_i, sum[kWH]);
      sum[kWVG] = FusedExact::MulAdd(wv, G, sum[kWVG]);
      sum[kWVH] = FusedExact::MulAdd(wv, h_i, sum[kWVH]);
      sum[kW2] = FusedExact::MulAdd(w, w, sum[kW2]);
      sum[kW2V] = FusedExact::MulAdd(w, wv, sum[kW2V]);
      sum[kW2VV] = FusedExact::MulAdd(wv, wv, sum[kW2VV]);
    };
    std::size_t i = lane;
    for (; i + (kGroups - 1) * random::kTokensAtOnce + kFloats <= count;
         i += kGroups * random::kTokensAtOnce) {
      V w[kGroups];
      for (std::size_t k = 0; k < kGroups; ++k) w[k] = below_top(i + k * random::kTokensAtOnce);
      Weights<!kFixed>(rate, w);
      for (std::size_t k = 0; k < kGroups; ++k) add(i + k * random::kTokensAtOnce, w[k]);
    }
    for (; i < count; i += random::kTokensAtOnce) {
      const auto inside = hn::Lt(hn::Iota(d, 0.0F), hn::Set(d, static_cast<float>(count - i)));
      V w[1] = {below_top(i)};
      Weights<!kFixed>(rate, w);
      add(i, hn::IfThenElseZero(inside, w[0]));
    }
    for (std::size_t k = 0; k < kCollapsedSums; ++k)
      hn::Store(sum[k], d, sums + k * random::kTokensAtOnce + lane);
  }
  const D64 d64;
  const hn::Rebind<float, D64> half;
  for (std::size_t k = 0; k < kCollapsedSums; ++k) {
    const auto old_scale = hn::Set(d64, k < kW2 ? totals.old_scale : totals.old_scale * totals.old_scale);
    const auto new_scale = hn::Set(d64, k < kW2 ? totals.new_scale : totals.new_scale * totals.new_scale);
    for (std::size_t i = k * random::kTokensAtOnce; i < (k + 1) * random::kTokensAtOnce;
         i += hn::MaxLanes(d64)) {
      const auto chunk = hn::PromoteTo(d64, hn::Load(half, sums + i));
      const auto before = hn::Load(d64, totals.lanes + i);
      hn::Store(
          kFixed ? hn::Add(before, chunk) : hn::Add(hn::Mul(before, old_scale), hn::Mul(chunk, new_scale)),
          d64, totals.lanes + i);
    }
  }
}

float LargestDraw(const float* draws, std::size_t count) { return Largest(DF(), draws, count); }

void Accumulate(const float* HWY_RESTRICT g, const float* HWY_RESTRICT h, std::size_t count,
                const CollapsedToken& token, CollapsedTotals& totals) {
  AccumulateTokens<false>(g, h, count, token, totals);
}

void AccumulateFixed(const float* HWY_RESTRICT g, const float* HWY_RESTRICT h, std::size_t count,
                     const CollapsedToken& token, CollapsedTotals& totals) {
  AccumulateTokens<true>(g, h, count, token, totals);
}

}  // namespace
}  // namespace largo::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace largo::prompts {
HWY_EXPORT(LargestDraw);
HWY_EXPORT(Accumulate);
HWY_EXPORT(AccumulateFixed);

namespace {

constexpr std::size_t kDrawn = 1024;                        // tokens drawn at a time
constexpr std::int64_t kUntilStop = std::int64_t{1} << 20;  // tokens between two checks of Execution::stop
constexpr double kLargestDraw = 6.7;
// (Σ w² v² has kCollapsedChunk terms with |v| < 2^5.)
static_assert(2 * kFixedRate * kLargestDraw + 9 + 2 * 5 < 127,
              "sums of squared weights and values are finite");
static_assert(2 * kFixedRate * kLargestDraw < 126 - 23, "nor does a squared weight lose digits below");

double sum_of(const CollapsedTotals& totals, std::size_t k) {
  const double* s = totals.lanes + k * random::kTokensAtOnce;
  return ((s[0] + s[4]) + (s[2] + s[6])) + ((s[1] + s[5]) + (s[3] + s[7]));
}

}  // namespace

CollapsedSums collapsed_sums(const random::DrawAddress& address, std::int64_t L, double s, double alpha,
                             double beta, const Execution& execution) {
  ensure_simd_level();
  if (!(s <= kLargestSpread)) {
    fail("sampling", "spread of the scores", s, "at most 1e11: scale down U, the query or the tokens");
  }
  alignas(64) float g[kDrawn], h[kDrawn];
  CollapsedTotals totals;
  const CollapsedSetting setting = collapsed_setting(L, s, alpha, beta);
  CollapsedToken token = setting.token;
  float top = 0;  // largest draw of all chunks so far: weights are relative to it
  for (std::int64_t first = 0; first < L; first += kDrawn) {
    if (first % kUntilStop == 0) runtime::check_stop(execution);
    const auto drawn = static_cast<std::size_t>(std::min<std::int64_t>(kDrawn, L - first));
    random::DrawAddress at = address;
    at.first += static_cast<std::uint64_t>(first) / random::kTokensAtOnce * random::kCountersAtOnce;
    random::token_normals(at, (drawn + random::kTokensAtOnce - 1) / random::kTokensAtOnce, g, h);
    for (std::size_t start = 0; start < drawn; start += kCollapsedChunk) {
      const std::size_t count = std::min(kCollapsedChunk, drawn - start);
      if (setting.fixed) {
        HWY_DYNAMIC_DISPATCH(AccumulateFixed)(g + start, h + start, count, token, totals);
        continue;
      }
      token.top = HWY_DYNAMIC_DISPATCH(LargestDraw)(g + start, count);
      if (first == 0 && start == 0) top = token.top;
      const double difference = std::numbers::ln2 * double{token.rate} * (double{token.top} - top);
      totals.old_scale = difference > 0 ? numerics::portable_exp(-difference) : 1;
      totals.new_scale = difference > 0 ? 1 : numerics::portable_exp(difference);
      HWY_DYNAMIC_DISPATCH(Accumulate)(g + start, h + start, count, token, totals);
      top = std::max(top, token.top);
    }
  }

  double total[kCollapsedSums];
  for (std::size_t k = 0; k < kCollapsedSums; ++k) total[k] = sum_of(totals, k);
  return collapsed_sums(setting, L, total);
}

}  // namespace largo::prompts
#endif  // HWY_ONCE
