#include "prompts/score_sums.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "prompts/score_sums.cpp"
#include "hwy/foreach_target.h"  // must precede highway.h
#include "hwy/highway.h"

#include "largo/numerics/simd_level.hpp"
#include "largo/runtime/check.hpp"
#include "numerics/portable_math.hpp"
#include "numerics/simd_math-inl.hpp"
#include "prompts/kernel-inl.hpp"
#include "prompts/token_source.hpp"
#include "random/float_draws.hpp"
#include "random/float_normals-inl.hpp"
#include "runtime/distribute.hpp"

#ifndef LARGO_SCORE_SUMS_ONCE
#define LARGO_SCORE_SUMS_ONCE
namespace largo::prompts {
// The sums in the order in which Accumulate stores them, each as kTokensAtOnce partial sums.
enum : std::size_t { kW, kWV, kWVV, kWW, kWWV, kWWVV, kWWW, kScoreSums };
}  // namespace largo::prompts
#endif

HWY_BEFORE_NAMESPACE();
namespace largo::HWY_NAMESPACE {
namespace {

using namespace tokens;

// A coordinate of a uniform point on the unit sphere of R^n. Two coordinates of the point together have
// squared length 1 - U^{2/(n-2)} (n = 2: U^∞ = 0) and a uniform angle. Reads words for radius and angle.
void SphereCoordinates(const std::uint32_t* HWY_RESTRICT radius, const std::uint32_t* HWY_RESTRICT angle,
                       std::size_t count, float order, float* HWY_RESTRICT out) {
  const DF df;
  const DU du;
  // With r² = -2 ln U, U^{2/(n-2)} is 2^x with x = ln U log2 e 2/(n-2).
  const V rate = hn::Set(df, order > 2 ? -std::numbers::log2e_v<float> / (order - 2) : -1e30F);
  for (std::size_t i = 0; i < count; i += kFloats) {
    const hn::Vec<decltype(du)> words[2][1] = {{hn::Load(du, radius + i)}, {hn::Load(du, angle + i)}};
    V r_square[1], cos[1], sin[1];
    FloatPolar(df, words[0], words[1], r_square, cos, sin);
    const V rest = Exp2<Separate>(df, hn::Mul(rate, r_square[0]));
    const V square = hn::Max(hn::Sub(hn::Set(df, 1.0F), rest), hn::Zero(df));
    hn::Store(hn::Mul(hn::Sqrt(square), hn::Xor(cos[0], SignOf(df, words[0][0]))), df, out + i);
  }
}

float LargestScore(const float* scores, std::size_t count) { return Largest(DF(), scores, count); }

// w = 2^{rate v - top}; token i is added to partial sum i mod 8 at every SIMD level.
void Accumulate(const float* HWY_RESTRICT v, std::size_t count, float rate, float top, float shift,
                float* HWY_RESTRICT sums) {
  const DF d;
  for (std::size_t lane = 0; lane < random::kTokensAtOnce; lane += kFloats) {
    V all[kScoreSums];
    for (V& sum : all) sum = hn::Zero(d);
    const auto add = [&](std::size_t i, auto weight_of) HWY_ATTR {
      const V v_i = hn::Load(d, v + i);
      const V x = hn::Sub(v_i, hn::Set(d, shift));
      const V w = weight_of(Exp2<Separate>(d, hn::Sub(hn::Mul(hn::Set(d, rate), v_i), hn::Set(d, top))));
      const V wx = hn::Mul(w, x);
      const V ww = hn::Mul(w, w);
      all[kW] = hn::Add(all[kW], w);
      all[kWV] = hn::Add(all[kWV], wx);
      all[kWVV] = hn::Add(all[kWVV], hn::Mul(wx, x));
      all[kWW] = hn::Add(all[kWW], ww);
      all[kWWV] = hn::Add(all[kWWV], hn::Mul(w, wx));
      all[kWWVV] = hn::Add(all[kWWVV], hn::Mul(wx, wx));
      all[kWWW] = hn::Add(all[kWWW], hn::Mul(ww, w));
    };
    std::size_t i = lane;
    for (; i + kFloats <= count; i += random::kTokensAtOnce) add(i, [](V w) HWY_ATTR { return w; });
    if (i < count) {
      const auto inside = hn::Lt(hn::Iota(d, 0.0F), hn::Set(d, static_cast<float>(count - i)));
      add(i, [&](V w) HWY_ATTR { return hn::IfThenElseZero(inside, w); });
    }
    for (std::size_t k = 0; k < kScoreSums; ++k)
      hn::Store(all[k], d, sums + k * random::kTokensAtOnce + lane);
  }
}

}  // namespace
}  // namespace largo::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace largo::prompts {
HWY_EXPORT(SphereCoordinates);
HWY_EXPORT(LargestScore);
HWY_EXPORT(Accumulate);

namespace {

struct Chunk {
  alignas(64) float v[kChunkTokens];
  alignas(64) std::uint32_t radius[kChunkTokens], angle[kChunkTokens];
};

// Draws the standard variables of `count` tokens from `first` on, rounded up to whole groups.
void draw(const StandardScore& score, const ScoreAddress& address, std::uint64_t first, std::size_t count,
          Chunk& chunk) {
  const std::size_t groups = (count + random::kTokensAtOnce - 1) / random::kTokensAtOnce;
  if (score.shape == ScoreShape::gaussian) {
    // Both normals of a pair are used: token t < 128 of a chunk takes the first, token t + 128 the second.
    const std::size_t pairs = std::min(groups, kChunkTokens / 2 / random::kTokensAtOnce);
    random::token_normals(lane_address(address.seed, address.prompt, address.lane, first / 2), pairs, chunk.v,
                          chunk.v + kChunkTokens / 2);
  } else {
    random::token_words(lane_address(address.seed, address.prompt, address.lane, first), groups, chunk.radius,
                        chunk.angle);
    HWY_DYNAMIC_DISPATCH(SphereCoordinates)
    (chunk.radius, chunk.angle, groups * random::kTokensAtOnce, static_cast<float>(score.order), chunk.v);
  }
}

ScoreSums to_sums(const float* partial, float top) {
  double total[kScoreSums] = {};
  for (std::size_t k = 0; k < kScoreSums; ++k) {
    for (std::size_t lane = 0; lane < random::kTokensAtOnce; ++lane)
      total[k] += double{partial[k * random::kTokensAtOnce + lane]};
  }
  return {total[kW],   total[kWV],   total[kWVV], total[kWW],
          total[kWWV], total[kWWVV], total[kWWW], static_cast<std::int64_t>(top)};
}

}  // namespace

void ScoreSums::merge(const ScoreSums& other) {
  if (other.w == 0) return;
  if (w == 0) {
    *this = other;
    return;
  }
  const std::int64_t new_top = std::max(top, other.top);
  const double old_scale = numerics::power_of_two(top - new_top);
  const double new_scale = numerics::power_of_two(other.top - new_top);
  const auto add = [&](double& sum, double more, int power) {
    for (int i = 0; i < power; ++i) {
      sum *= old_scale;
      more *= new_scale;
    }
    sum += more;
  };
  add(w, other.w, 1);
  add(wv, other.wv, 1);
  add(wvv, other.wvv, 1);
  add(ww, other.ww, 2);
  add(wwv, other.wwv, 2);
  add(wwvv, other.wwvv, 2);
  add(www, other.www, 3);
  top = new_top;
}

void check_score_rate(double rate) {
  if (!(rate <= 1e11)) {
    fail("sampling", "spread of the scores", rate, "at most 1e11: scale down U or the query");
  }
}

ScoreSums score_sums(const StandardScore& score, const ScoreAddress& address, std::int64_t first,
                     std::int64_t count, double rate, double shift, const Execution& execution) {
  ensure_simd_level();
  if (count == 0) return {};
  if (score.shape == ScoreShape::atom) {
    const auto n = static_cast<double>(count);
    return {n, -n * shift, n * shift * shift, n, -n * shift, n * shift * shift, n, 0};
  }
  check_score_rate(rate);
  const auto rate2 = static_cast<float>(rate * std::numbers::log2e);
  Chunk chunk;
  alignas(64) float partial[kScoreSums * random::kTokensAtOnce];
  ScoreSums sums;
  for (std::int64_t done = 0; done < count; done += kChunkTokens) {
    runtime::check_stop(execution);
    const auto size = static_cast<std::size_t>(std::min<std::int64_t>(kChunkTokens, count - done));
    draw(score, address, static_cast<std::uint64_t>(first + done), size, chunk);
    const float largest = rate2 * HWY_DYNAMIC_DISPATCH(LargestScore)(chunk.v, size);
    const float top = std::ceil(largest);
    HWY_DYNAMIC_DISPATCH(Accumulate)(chunk.v, size, rate2, top, static_cast<float>(shift), partial);
    sums.merge(to_sums(partial, top));
  }
  return sums;
}

}  // namespace largo::prompts
#endif  // HWY_ONCE
