#include "prompts/token_sums.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "prompts/token_sums.cpp"
#include "hwy/foreach_target.h"  // must precede highway.h
#include "hwy/highway.h"

#include "largo/numerics/simd_level.hpp"
#include "largo/runtime/check.hpp"
#include "numerics/portable_math.hpp"
#include "numerics/simd_math-inl.hpp"
#include "prompts/kernel-inl.hpp"

#ifndef LARGO_TOKEN_SUMS_ONCE
#define LARGO_TOKEN_SUMS_ONCE
namespace largo::prompts {

// Number of partial sums of each kind: token i is added to number i mod kPartial at every SIMD level.
template <typename T>
inline constexpr std::size_t kPartial = 32 / sizeof(T);

// One chunk on its way through the kernel. Sums are in the order of TokenSums, kPartial<T> numbers each.
template <typename T>
struct TokenChunk {
  const T* tokens;
  std::size_t dimension;
  std::size_t count;
  const T* direction;
  const T* values;  // null unless the gradient is wanted
  bool covariance;
  T* weights;
  T* weighted;
  T* sums;
  T top;
};

}  // namespace largo::prompts
#endif

HWY_BEFORE_NAMESPACE();
namespace largo::HWY_NAMESPACE {
namespace {

template <typename T>
using Lanes = hn::CappedTag<T, kPartial<T>>;
template <typename T>
constexpr std::size_t kLanes = hn::MaxLanes(Lanes<T>());

// 2^x for x <= 0
HWY_INLINE hn::Vec<Lanes<float>> Weight(Lanes<float> d, hn::Vec<Lanes<float>> x) {
  return Exp2<Separate>(d, x);
}
HWY_INLINE hn::Vec<Lanes<double>> Weight(Lanes<double> d, hn::Vec<Lanes<double>> x) {
  return Exp(d, hn::Mul(x, hn::Set(d, std::numbers::ln2)));
}

std::size_t RoundUp(std::size_t count, std::size_t multiple) {
  return (count + multiple - 1) / multiple * multiple;
}

// weights[i] = <direction, token i>, and with kBoth also weighted[i] = <values, token i>.
template <bool kBoth, typename T>
HWY_INLINE void Project(const TokenChunk<T>& chunk) {
  const Lanes<T> d;
  for (std::size_t i = 0; i < chunk.count; i += kLanes<T>) {
    auto score = hn::Zero(d), value = hn::Zero(d);
    for (std::size_t j = 0; j < chunk.dimension; ++j) {
      const auto x = hn::Load(d, chunk.tokens + j * kChunkTokens + i);
      score = hn::Add(score, hn::Mul(hn::Set(d, chunk.direction[j]), x));
      if (kBoth) value = hn::Add(value, hn::Mul(hn::Set(d, chunk.values[j]), x));
    }
    hn::Store(score, d, chunk.weights + i);
    if (kBoth) hn::Store(value, d, chunk.weighted + i);
  }
}

// Turns scores into weights, zero from `count` on, and multiplies the values by them.
template <typename T>
HWY_INLINE void Weigh(TokenChunk<T>& chunk) {
  const Lanes<T> d;
  chunk.top = std::ceil(Largest(d, chunk.weights, chunk.count));
  const auto top = hn::Set(d, chunk.top);
  const std::size_t end = RoundUp(chunk.count, kPartial<T>);
  for (std::size_t lane = 0; lane < kPartial<T>; lane += kLanes<T>) {
    auto w_sum = hn::Zero(d), ww_sum = hn::Zero(d), v_sum = hn::Zero(d);
    for (std::size_t i = lane; i < end; i += kPartial<T>) {
      auto w = Weight(d, hn::Sub(hn::Load(d, chunk.weights + i), top));
      if (i + kLanes < T >> chunk.count) {
        const T left = i < chunk.count ? static_cast<T>(chunk.count - i) : T{0};
        w = hn::IfThenElseZero(hn::Lt(hn::Iota(d, T{0}), hn::Set(d, left)), w);
      }
      hn::Store(w, d, chunk.weights + i);
      w_sum = hn::Add(w_sum, w);
      ww_sum = hn::Add(ww_sum, hn::Mul(w, w));
      if (chunk.values != nullptr) {
        const auto wv = hn::Mul(w, hn::Load(d, chunk.weighted + i));
        hn::Store(wv, d, chunk.weighted + i);
        v_sum = hn::Add(v_sum, wv);
      }
    }
    hn::Store(w_sum, d, chunk.sums + lane);
    hn::Store(ww_sum, d, chunk.sums + kPartial<T> + lane);
    if (chunk.values != nullptr) hn::Store(v_sum, d, chunk.sums + 2 * kPartial<T> + lane);
  }
}

// Σ_i weights[i] x_j[i] for kRows coordinates from `rows` on, for kSets rows of weights.
template <std::size_t kRows, std::size_t kSets, typename T>
HWY_INLINE void Dots(const T* const (&weights)[kSets], const T* HWY_RESTRICT rows, std::size_t end,
                     T* const (&sums)[kSets]) {
  const Lanes<T> d;
  for (std::size_t lane = 0; lane < kPartial<T>; lane += kLanes<T>) {
    hn::Vec<Lanes<T>> sum[kSets][kRows];
    for (auto& set : sum) {
      for (auto& s : set) s = hn::Zero(d);
    }
    for (std::size_t i = lane; i < end; i += kPartial<T>) {
      for (std::size_t r = 0; r < kRows; ++r) {
        const auto x = hn::Load(d, rows + r * kChunkTokens + i);
        for (std::size_t s = 0; s < kSets; ++s)
          sum[s][r] = hn::Add(sum[s][r], hn::Mul(hn::Load(d, weights[s] + i), x));
      }
    }
    for (std::size_t s = 0; s < kSets; ++s) {
      for (std::size_t r = 0; r < kRows; ++r) hn::Store(sum[s][r], d, sums[s] + r * kPartial<T> + lane);
    }
  }
}

// Several coordinates are summed at once: a single sum would wait for its own additions.
template <std::size_t kSets, typename T>
HWY_INLINE void AllDots(const T* const (&weights)[kSets], const T* rows, std::size_t count, std::size_t end,
                        T* const (&sums)[kSets]) {
  constexpr std::size_t kTogether = 4;
  for (std::size_t j = 0; j < count; j += kTogether) {
    const T* const from = rows + j * kChunkTokens;
    T* to[kSets];
    for (std::size_t s = 0; s < kSets; ++s) to[s] = sums[s] + j * kPartial<T>;
    switch (std::min(kTogether, count - j)) {
      case 4:
        Dots<4>(weights, from, end, to);
        break;
      case 3:
        Dots<3>(weights, from, end, to);
        break;
      case 2:
        Dots<2>(weights, from, end, to);
        break;
      default:
        Dots<1>(weights, from, end, to);
    }
  }
}

template <typename T>
HWY_INLINE void AddChunk(TokenChunk<T>& chunk) {
  if (chunk.values != nullptr) {
    Project<true>(chunk);
  } else {
    Project<false>(chunk);
  }
  Weigh(chunk);
  const std::size_t end = RoundUp(chunk.count, kPartial<T>), dimension = chunk.dimension;
  T* const sums = chunk.sums + (chunk.values != nullptr ? 3 : 2) * kPartial<T>;
  if (chunk.values != nullptr) {
    const T* const both[] = {chunk.weights, chunk.weighted};
    T* const to[] = {sums, sums + dimension * kPartial<T>};
    AllDots(both, chunk.tokens, dimension, end, to);
    return;
  }
  const T* const weights[] = {chunk.weights};
  T* to[] = {sums};
  AllDots(weights, chunk.tokens, dimension, end, to);
  if (!chunk.covariance) return;
  const Lanes<T> d;
  to[0] += dimension * kPartial<T>;
  for (std::size_t j = 0; j < dimension; to[0] += ++j * kPartial<T>) {
    for (std::size_t i = 0; i < end; i += kLanes<T>) {
      const auto x = hn::Load(d, chunk.tokens + j * kChunkTokens + i);
      hn::Store(hn::Mul(hn::Load(d, chunk.weights + i), x), d, chunk.weighted + i);
    }
    const T* const weighted[] = {chunk.weighted};
    AllDots(weighted, chunk.tokens, j + 1, end, to);
  }
}

void AddFloats(TokenChunk<float>& chunk) { AddChunk(chunk); }
void AddDoubles(TokenChunk<double>& chunk) { AddChunk(chunk); }

}  // namespace
}  // namespace largo::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace largo::prompts {
HWY_EXPORT(AddFloats);
HWY_EXPORT(AddDoubles);

namespace {

void add_chunk(TokenChunk<float>& chunk) { HWY_DYNAMIC_DISPATCH(AddFloats)(chunk); }
void add_chunk(TokenChunk<double>& chunk) { HWY_DYNAMIC_DISPATCH(AddDoubles)(chunk); }

void check_top(double top) {
  if (!(std::abs(top) <= kLargestScore)) {
    fail("sampling", "a score", top * std::numbers::ln2,
         "below 1e12 in size: scale down U, the query or the tokens");
  }
}

}  // namespace

template <typename T>
TokenSums<T>::TokenSums(std::size_t dimension, SumOrder order)
    : dimension_(dimension),
      order_(order),
      direction_(dimension),
      values_(dimension),
      weights_(kChunkTokens),
      weighted_(kChunkTokens),
      partial_(sum_count(dimension, order) * kPartial<T>),
      sums_(sum_count(dimension, order)) {
  ensure_simd_level();
}

template <typename T>
void TokenSums<T>::begin(const ConstVectorRef& direction, const ConstVectorRef& values) {
  for (std::size_t j = 0; j < dimension_; ++j) {
    direction_[j] = static_cast<T>(direction[static_cast<Eigen::Index>(j)] * std::numbers::log2e);
    if (order_ == SumOrder::gradient) values_[j] = static_cast<T>(values[static_cast<Eigen::Index>(j)]);
  }
  std::fill(sums_.begin(), sums_.end(), 0.0);
  empty_ = true;
}

template <typename T>
void TokenSums<T>::add(const T* tokens, std::size_t count) {
  TokenChunk<T> chunk{tokens,
                      dimension_,
                      count,
                      direction_.data(),
                      order_ == SumOrder::gradient ? values_.data() : nullptr,
                      order_ == SumOrder::covariance,
                      weights_.data(),
                      weighted_.data(),
                      partial_.data(),
                      0};
  add_chunk(chunk);
  check_top(double{chunk.top});
  const auto chunk_top = static_cast<std::int64_t>(chunk.top);
  const std::int64_t old_top = empty_ ? chunk_top : top_;
  top_ = std::max(old_top, chunk_top);
  empty_ = false;
  const double old_scale = numerics::power_of_two(old_top - top_);
  const double new_scale = numerics::power_of_two(chunk_top - top_);
  for (std::size_t k = 0; k < sums_.size(); ++k) {
    double sum = 0;
    for (std::size_t lane = 0; lane < kPartial<T>; ++lane) sum += double{partial_[k * kPartial<T> + lane]};
    const bool squared = k == 1;
    sums_[k] = sums_[k] * old_scale * (squared ? old_scale : 1) + sum * new_scale * (squared ? new_scale : 1);
  }
}

template <typename T>
void TokenSums<T>::set(std::span<const double> sums_and_top) {
  check_top(sums_and_top.back());
  std::copy_n(sums_and_top.begin(), sums_.size(), sums_.begin());
  top_ = static_cast<std::int64_t>(sums_and_top.back());
  empty_ = false;
}

template <typename T>
Matrix TokenSums<T>::second_moment() const {
  const auto k = static_cast<Eigen::Index>(dimension_);
  Matrix moment(k, k);
  const double* next = sums_.data() + 2 + dimension_;
  for (Eigen::Index j = 0; j < k; ++j) {
    for (Eigen::Index i = 0; i <= j; ++i) moment(i, j) = moment(j, i) = *next++;
  }
  return moment;
}

template class TokenSums<float>;
template class TokenSums<double>;

}  // namespace largo::prompts
#endif  // HWY_ONCE
