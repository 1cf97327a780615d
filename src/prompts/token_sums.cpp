#include "prompts/token_sums.hpp"

#include <algorithm>
#include <array>
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

// Columns before those of the coordinates, by the number of sets.
template <std::size_t kSets>
inline constexpr std::size_t kColumnsBefore = kSets == 2 ? 1 : 2;

// One chunk on its way through the kernel. A set is a row of weights: w, and also w v for gradients.
// Sums are in the order of TokenSums.
template <typename T>
struct TokenChunk {
  // What weights are multiplied by: ones, the weights (not for gradients), and then the coordinates.
  const T* const* columns;
  std::size_t dimension;
  std::size_t count;
  const T* direction;
  const T* values;
  SumOrder order;
  T* scores;    // <direction, token>
  T* weights;   // sets side by side: kPartial<T> numbers of each in turn
  T* products;  // <values, token>, or w x_j for a coordinate
  T* partial;   // kPartial<T> numbers for each sum
  double* sums;
  T top;
};

}  // namespace largo::prompts
#endif

HWY_BEFORE_NAMESPACE();
namespace largo::HWY_NAMESPACE {
namespace {

// Vectors of as many sums of each of kSets sets as a register holds; and of tokens, which need not wait for
// one another.
template <typename T, std::size_t kSets = 1>
using Lanes = hn::CappedTag<T, kSets * kPartial<T>>;
template <typename T>
using Tokens = Lanes<T, 2>;

// 2^x for x <= 0
template <class D, class V = hn::Vec<D>>
HWY_INLINE V Weight(D d, V x) {
  if constexpr (sizeof(hn::TFromD<D>) == sizeof(float)) {
    return Exp2<Separate>(d, x);
  } else {
    return Exp(d, hn::Mul(x, hn::Set(d, std::numbers::ln2)));
  }
}

std::size_t RoundUp(std::size_t count, std::size_t multiple) {
  return (count + multiple - 1) / multiple * multiple;
}

// Scores, and with kBoth also values, of kVectors vectors of tokens from number i on.
template <bool kBoth, std::size_t kVectors, typename T>
HWY_INLINE void ProjectSome(const T* const* coordinates, const TokenChunk<T>& chunk, std::size_t i) {
  const Tokens<T> d;
  constexpr std::size_t kWidth = hn::MaxLanes(d);
  hn::Vec<Tokens<T>> score[kVectors], value[kVectors];
  for (std::size_t n = 0; n < kVectors; ++n) score[n] = value[n] = hn::Zero(d);
  for (std::size_t j = 0; j < chunk.dimension; ++j) {
    const auto a = hn::Set(d, chunk.direction[j]);
    const auto b = hn::Set(d, kBoth ? chunk.values[j] : T{0});
    for (std::size_t n = 0; n < kVectors; ++n) {
      const auto x = hn::Load(d, coordinates[j] + i + n * kWidth);
      score[n] = hn::Add(score[n], hn::Mul(a, x));
      if (kBoth) value[n] = hn::Add(value[n], hn::Mul(b, x));
    }
  }
  for (std::size_t n = 0; n < kVectors; ++n) {
    hn::Store(score[n], d, chunk.scores + i + n * kWidth);
    if (kBoth) hn::Store(value[n], d, chunk.products + i + n * kWidth);
  }
}

template <bool kBoth, typename T>
HWY_INLINE void Project(const T* const* coordinates, const TokenChunk<T>& chunk) {
  constexpr std::size_t kWidth = hn::MaxLanes(Tokens<T>());
  std::size_t i = 0;
  for (; i + 2 * kWidth < chunk.count; i += 4 * kWidth) ProjectSome<kBoth, 4>(coordinates, chunk, i);
  if (i < chunk.count) ProjectSome<kBoth, 2>(coordinates, chunk, i);
}

// Stores one number of a set for each token of a vector, from token i on.
template <std::size_t kSets, class V, typename T>
HWY_INLINE void StoreSet(V v, T* sets, std::size_t i, std::size_t set) {
  using D = hn::DFromV<V>;
  T* const to = sets + i / kPartial<T> * kPartial<T> * kSets + set * kPartial<T> + i % kPartial<T>;
#if LARGO_HAS_512_BITS
  if constexpr (kSets > 1) {
    const hn::Half<D> half;
    hn::Store(hn::LowerHalf(half, v), half, to);
    hn::Store(hn::UpperHalf(half, v), half, to + kSets * kPartial<T>);
    return;
  }
#endif
  hn::Store(v, D(), to);
}

// Turns scores into weights, zero from `count` on, and with two sets also values into weighted values.
template <std::size_t kSets, typename T>
HWY_INLINE void Weigh(TokenChunk<T>& chunk) {
  const Tokens<T> d;
  constexpr std::size_t kWidth = hn::MaxLanes(d);
  chunk.top = std::ceil(Largest(d, chunk.scores, chunk.count));
  const auto top = hn::Set(d, chunk.top);
  for (std::size_t i = 0; i < RoundUp(chunk.count, kPartial<T>); i += kWidth) {
    auto w = Weight(d, hn::Sub(hn::Load(d, chunk.scores + i), top));
    if (i + kWidth > chunk.count) {
      const T left = i < chunk.count ? static_cast<T>(chunk.count - i) : T{0};
      w = hn::IfThenElseZero(hn::Lt(hn::Iota(d, T{0}), hn::Set(d, left)), w);
    }
    StoreSet<kSets>(w, chunk.weights, i, 0);
    if (kSets == 2) StoreSet<kSets>(hn::Mul(w, hn::Load(d, chunk.products + i)), chunk.weights, i, 1);
  }
}

// A vector of numbers, the same for each of its sets.
template <class D, typename T>
HWY_INLINE hn::Vec<D> LoadColumn(D d, const T* from) {
#if LARGO_HAS_512_BITS
  // (With a mask, because GCC 12 warns of what the function without one leaves undefined.)
  if constexpr (hn::MaxLanes(D()) > kPartial<T>) {
    if constexpr (sizeof(T) == sizeof(float)) {
      return hn::Vec<D>{_mm512_maskz_broadcast_f32x8(0xffff, _mm256_load_ps(from))};
    } else {
      return hn::Vec<D>{_mm512_maskz_broadcast_f64x4(0xff, _mm256_load_pd(from))};
    }
  }
#endif
  return hn::Load(d, from);
}

// Σ_i w_i x_i for kColumns columns x and all sets of weights w. Sums of several columns at once: a single one
// would wait for its own additions.
template <std::size_t kColumns, std::size_t kSets, typename T>
HWY_INLINE void SumColumns(const T* HWY_RESTRICT weights, const T* const* columns, std::size_t end, T* sums) {
  const Lanes<T, kSets> d;
  constexpr std::size_t kAll = kSets * kPartial<T>;
  for (std::size_t lane = 0; lane < kAll; lane += hn::MaxLanes(d)) {
    hn::Vec<Lanes<T, kSets>> sum[kColumns];
    const T* x[kColumns];
    for (std::size_t k = 0; k < kColumns; ++k) {
      sum[k] = hn::Zero(d);
      x[k] = columns[k] + lane % kPartial<T>;
    }
    for (std::size_t i = 0; i < end; i += kPartial<T>) {
      const auto w = hn::Load(d, weights + i * kSets + lane);
      for (std::size_t k = 0; k < kColumns; ++k)
        sum[k] = hn::Add(sum[k], hn::Mul(w, LoadColumn(d, x[k] + i)));
    }
    for (std::size_t k = 0; k < kColumns; ++k) hn::Store(sum[k], d, sums + k * kAll + lane);
  }
}

template <std::size_t kSets, typename T>
HWY_INLINE void SumAll(const T* weights, const T* const* columns, std::size_t count, std::size_t end,
                       T* sums) {
  while (count > 0) {
    const std::size_t now = std::min<std::size_t>(count, 8);
    switch (now) {
      case 8: SumColumns<8, kSets>(weights, columns, end, sums); break;
      case 7: SumColumns<7, kSets>(weights, columns, end, sums); break;
      case 6: SumColumns<6, kSets>(weights, columns, end, sums); break;
      case 5: SumColumns<5, kSets>(weights, columns, end, sums); break;
      case 4: SumColumns<4, kSets>(weights, columns, end, sums); break;
      case 3: SumColumns<3, kSets>(weights, columns, end, sums); break;
      case 2: SumColumns<2, kSets>(weights, columns, end, sums); break;
      default: SumColumns<1, kSets>(weights, columns, end, sums);
    }
    count -= now;
    columns += now;
    sums += now * kSets * kPartial<T>;
  }
}

// Σ w x_j x_k for k <= j
template <typename T>
HWY_INLINE void SumProducts(const TokenChunk<T>& chunk, std::size_t end) {
  const Tokens<T> d;
  constexpr std::size_t kBefore = kColumnsBefore<1>;
  const T* const* const coordinates = chunk.columns + kBefore;
  T* to = chunk.partial + (kBefore + chunk.dimension) * kPartial<T>;
  for (std::size_t j = 0; j < chunk.dimension; to += ++j * kPartial<T>) {
    for (std::size_t i = 0; i < end; i += hn::MaxLanes(d)) {
      const auto x = hn::Load(d, coordinates[j] + i);
      hn::Store(hn::Mul(hn::Load(d, chunk.weights + i), x), d, chunk.products + i);
    }
    SumAll<1>(chunk.products, coordinates, j + 1, end, to);
  }
}

// Adds the partial sums of each of `count` sums in their order; two sums at once.
template <typename T>
HWY_INLINE void AddPartial(const T* partial, std::size_t count, double* sums) {
  std::size_t k = 0;
#if HWY_TARGET != HWY_SCALAR
  const hn::CappedTag<double, 2> d;
  const hn::Rebind<T, decltype(d)> from;
  const auto pair_at = [&](const T* p) {
    if constexpr (sizeof(T) == sizeof(float)) {
      return hn::PromoteTo(d, hn::Load(from, p));
    } else {
      return hn::Load(d, p);
    }
  };
  for (; k + 2 <= count; k += 2) {
    const T* const p = partial + k * kPartial<T>;
    auto sum = hn::Zero(d);
    for (std::size_t lane = 0; lane < kPartial<T>; lane += 2) {
      const auto first = pair_at(p + lane), second = pair_at(p + kPartial<T> + lane);
      sum = hn::Add(sum, hn::InterleaveLower(d, first, second));
      sum = hn::Add(sum, hn::InterleaveUpper(d, first, second));
    }
    hn::StoreU(sum, d, sums + k);
  }
#endif
  for (; k < count; ++k) {
    double sum = 0;
    for (std::size_t lane = 0; lane < kPartial<T>; ++lane) sum += double{partial[k * kPartial<T> + lane]};
    sums[k] = sum;
  }
}

template <std::size_t kSets, typename T>
HWY_INLINE void AddChunk(TokenChunk<T>& chunk) {
  constexpr std::size_t kBefore = kColumnsBefore<kSets>;
  const std::size_t end = RoundUp(chunk.count, kPartial<T>), columns = kBefore + chunk.dimension;
  Project<kSets == 2>(chunk.columns + kBefore, chunk);
  Weigh<kSets>(chunk);
  SumAll<kSets>(chunk.weights, chunk.columns, columns, end, chunk.partial);
  std::size_t count = kSets * columns;
  if (chunk.order == SumOrder::covariance) {
    SumProducts(chunk, end);
    count += chunk.dimension * (chunk.dimension + 1) / 2;
  }
  AddPartial(chunk.partial, count, chunk.sums);
}

template <typename T>
HWY_INLINE void AddSets(TokenChunk<T>& chunk) {
  if (chunk.order == SumOrder::gradient) {
    AddChunk<2>(chunk);
  } else {
    AddChunk<1>(chunk);
  }
}

void AddFloats(TokenChunk<float>& chunk) { AddSets(chunk); }
void AddDoubles(TokenChunk<double>& chunk) { AddSets(chunk); }

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

template <typename T>
alignas(64) constexpr std::array<T, kChunkTokens> kOnes = [] {
  std::array<T, kChunkTokens> ones{};
  ones.fill(1);
  return ones;
}();

}  // namespace

template <typename T>
TokenSums<T>::TokenSums(std::size_t dimension, SumOrder order)
    : dimension_(dimension),
      order_(order),
      direction_(dimension),
      values_(dimension),
      scores_(kChunkTokens),
      weights_((order == SumOrder::gradient ? 2 : 1) * kChunkTokens),
      products_(kChunkTokens),
      columns_(dimension + (order == SumOrder::gradient ? kColumnsBefore<2> : kColumnsBefore<1>)),
      partial_(sum_count(dimension, order) * kPartial<T>),
      totals_(sum_count(dimension, order)),
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
  columns_[0] = kOnes<T>.data();
  if (order_ != SumOrder::gradient) columns_[1] = weights_.data();
  for (std::size_t j = 0; j < dimension_; ++j)
    columns_[columns_.size() - dimension_ + j] = tokens + j * kChunkTokens;
  TokenChunk<T> chunk{columns_.data(),  dimension_,      count,          direction_.data(),
                      values_.data(),   order_,          scores_.data(), weights_.data(),
                      products_.data(), partial_.data(), totals_.data(), 0};
  add_chunk(chunk);
  check_top(double{chunk.top});
  const auto chunk_top = static_cast<std::int64_t>(chunk.top);
  const std::int64_t old_top = empty_ ? chunk_top : top_;
  top_ = std::max(old_top, chunk_top);
  empty_ = false;
  const double old_scale = numerics::power_of_two(old_top - top_);
  const double new_scale = numerics::power_of_two(chunk_top - top_);
  if (order_ != SumOrder::gradient) {  // Σ w²
    sums_[1] *= old_scale;
    totals_[1] *= new_scale;
  }
  for (std::size_t k = 0; k < sums_.size(); ++k) sums_[k] = sums_[k] * old_scale + totals_[k] * new_scale;
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
