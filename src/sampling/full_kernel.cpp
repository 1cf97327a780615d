#include "sampling/full_kernel.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "sampling/full_kernel.cpp"
#include "hwy/foreach_target.h"  // must precede highway.h
#include "hwy/highway.h"

#include "largo/numerics/simd_level.hpp"
#include "numerics/simd_exp_log-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace largo {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

using DF = hn::CappedTag<float, kTokensAtOnce>;
using V = hn::Vec<DF>;
constexpr std::size_t kFloats = hn::MaxLanes(DF());

// scores[i] = Σ_j a_j χ_j[i], values[i] = Σ_j b_j χ_j[i]; returns the largest of the first `count` scores.
float ScoresAndValues(const float* HWY_RESTRICT chi, std::size_t stride, std::size_t dimension,
                      const float* a, const float* b, std::size_t count, float* HWY_RESTRICT scores,
                      float* HWY_RESTRICT values) {
  const DF d;
  for (std::size_t i = 0; i < count; i += kFloats) {
    V score = hn::Zero(d), value = hn::Zero(d);
    for (std::size_t j = 0; j < dimension; ++j) {
      const V x = hn::Load(d, chi + j * stride + i);
      score = hn::Add(score, hn::Mul(hn::Set(d, a[j]), x));
      value = hn::Add(value, hn::Mul(hn::Set(d, b[j]), x));
    }
    hn::Store(score, d, scores + i);
    hn::Store(value, d, values + i);
  }
  float top = scores[0];
  for (std::size_t i = 1; i < count; ++i) top = std::max(top, scores[i]);
  return top;
}

// scores become weights 2^{score - top}, zero from `count` on, values are multiplied by them. Sums of both:
// token i goes to partial sum i mod 8.
void Weigh(float* HWY_RESTRICT scores, float* HWY_RESTRICT values, std::size_t count, float top,
           float* HWY_RESTRICT sums) {
  const DF d;
  for (std::size_t lane = 0; lane < kTokensAtOnce; lane += kFloats) {
    V w_sum = hn::Zero(d), v_sum = hn::Zero(d);
    const std::size_t end = (count + kTokensAtOnce - 1) / kTokensAtOnce * kTokensAtOnce;
    for (std::size_t i = lane; i < end; i += kTokensAtOnce) {
      V w = Exp2<Separate>(d, hn::Sub(hn::Load(d, scores + i), hn::Set(d, top)));
      if (i + kFloats > count) {
        const float left = i < count ? static_cast<float>(count - i) : 0.0F;
        w = hn::IfThenElseZero(hn::Lt(hn::Iota(d, 0.0F), hn::Set(d, left)), w);
      }
      const V wv = hn::Mul(w, hn::Load(d, values + i));
      hn::Store(w, d, scores + i);
      hn::Store(wv, d, values + i);
      w_sum = hn::Add(w_sum, w);
      v_sum = hn::Add(v_sum, wv);
    }
    hn::Store(w_sum, d, sums + lane);
    hn::Store(v_sum, d, sums + kTokensAtOnce + lane);
  }
}

// Σ weight χ_j and Σ weight value χ_j for each coordinate.
void Correlate(const float* HWY_RESTRICT chi, std::size_t stride, std::size_t dimension,
               const float* HWY_RESTRICT weights, const float* HWY_RESTRICT weighted, std::size_t count,
               float* HWY_RESTRICT sums) {
  const DF d;
  const std::size_t end = (count + kTokensAtOnce - 1) / kTokensAtOnce * kTokensAtOnce;
  for (std::size_t j = 0; j < dimension; ++j, sums += 2 * kTokensAtOnce) {
    for (std::size_t lane = 0; lane < kTokensAtOnce; lane += kFloats) {
      V w_sum = hn::Zero(d), v_sum = hn::Zero(d);
      for (std::size_t i = lane; i < end; i += kTokensAtOnce) {
        const V x = hn::Load(d, chi + j * stride + i);
        w_sum = hn::Add(w_sum, hn::Mul(hn::Load(d, weights + i), x));
        v_sum = hn::Add(v_sum, hn::Mul(hn::Load(d, weighted + i), x));
      }
      hn::Store(w_sum, d, sums + lane);
      hn::Store(v_sum, d, sums + kTokensAtOnce + lane);
    }
  }
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace largo
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace largo {
namespace {
HWY_EXPORT(ScoresAndValues);
HWY_EXPORT(Weigh);
HWY_EXPORT(Correlate);

constexpr std::size_t kChunk = 256;
constexpr std::uint64_t kCoordinateCounters = std::uint64_t{1} << 40;

double total(const float* partial) {
  double sum = 0;
  for (std::size_t lane = 0; lane < kTokensAtOnce; ++lane) sum += double{partial[lane]};
  return sum;
}

}  // namespace

FullKernel::FullKernel(std::size_t dimension)
    : dimension_(dimension),
      pairs_((dimension + 1) / 2),
      chi_(2 * pairs_ * kChunk),
      scores_(kChunk),
      values_(kChunk),
      a_(dimension),
      b_(dimension),
      partial_(2 * (dimension + 1) * kTokensAtOnce),
      sums_(2 * (dimension + 1)) {}

void FullKernel::operator()(const DrawAddress& address, std::int64_t L, const double* a, const double* b,
                            FullSums& sums) {
  ensure_simd_level();
  for (std::size_t j = 0; j < dimension_; ++j) {
    a_[j] = static_cast<float>(a[j] * std::numbers::log2e);
    b_[j] = static_cast<float>(b[j]);
  }
  std::fill(sums_.begin(), sums_.end(), 0.0);
  float top = 0;
  for (std::int64_t first = 0; first < L; first += kChunk) {
    const auto count = static_cast<std::size_t>(std::min<std::int64_t>(kChunk, L - first));
    const auto groups = (count + kTokensAtOnce - 1) / kTokensAtOnce;
    for (std::size_t pair = 0; pair < pairs_; ++pair) {
      DrawAddress at = address;
      at.first +=
          pair * kCoordinateCounters + static_cast<std::uint64_t>(first) / kTokensAtOnce * kCountersAtOnce;
      token_normals(at, groups, chi_.data() + 2 * pair * kChunk, chi_.data() + (2 * pair + 1) * kChunk);
    }
    const float chunk_top = HWY_DYNAMIC_DISPATCH(ScoresAndValues)(
        chi_.data(), kChunk, dimension_, a_.data(), b_.data(), count, scores_.data(), values_.data());
    HWY_DYNAMIC_DISPATCH(Weigh)(scores_.data(), values_.data(), count, chunk_top, partial_.data());
    HWY_DYNAMIC_DISPATCH(Correlate)
    (chi_.data(), kChunk, dimension_, scores_.data(), values_.data(), count,
     partial_.data() + 2 * kTokensAtOnce);

    if (first == 0) top = chunk_top;
    const double old_scale = chunk_top > top ? std::exp2(double{top} - chunk_top) : 1;
    const double new_scale = chunk_top > top ? 1 : std::exp2(double{chunk_top} - top);
    top = std::max(top, chunk_top);
    for (std::size_t k = 0; k < sums_.size(); ++k) {
      sums_[k] = sums_[k] * old_scale + total(partial_.data() + k * kTokensAtOnce) * new_scale;
    }
  }
  const double inverse = 1 / sums_[0];
  sums.value = sums_[1] * inverse;
  sums.mean.resize(dimension_);
  sums.gradient.resize(dimension_);
  for (std::size_t j = 0; j < dimension_; ++j) {
    sums.mean[j] = sums_[2 + 2 * j] * inverse;
    sums.gradient[j] = sums_[3 + 2 * j] * inverse - sums.value * sums.mean[j];
  }
}

}  // namespace largo
#endif  // HWY_ONCE
