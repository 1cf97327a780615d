#include "heads/tile_kernel.hpp"

#include <array>
#include <cstddef>
#include <span>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "heads/tile_kernel.cpp"
#include "hwy/foreach_target.h"
// After foreach_target.h, as Highway requires.
#include "hwy/highway.h"
#include "largo/numerics/simd_level.hpp"
#include "numerics/simd-inl.hpp"
#include "numerics/simd_math.hpp"

HWY_BEFORE_NAMESPACE();
namespace largo::HWY_NAMESPACE {
namespace {

using heads::kPadding;
using heads::kTile;
using Doubles = hn::CappedTag<double, kPadding>;
using V = hn::Vec<Doubles>;

// With exact products one rounding and two give the same sum.
struct Fused {
  static HWY_INLINE V MulAdd(V a, V b, V c) { return hn::MulAdd(a, b, c); }
};

// kQueries queries against two vectors of keys at a time, in registers.
template <class Policy, int kQueries>
void ScoreQueries(const double* HWY_RESTRICT queries, std::int64_t columns, const double* HWY_RESTRICT panel,
                  double scale, double* HWY_RESTRICT scores, std::int64_t stride) {
  const Doubles d;
  constexpr auto kLanes = static_cast<std::int64_t>(hn::MaxLanes(Doubles()));
  const V factor = hn::Set(d, scale);
  for (std::int64_t j = 0; j < kTile; j += 2 * kLanes) {
    V low[kQueries], high[kQueries];
    for (int i = 0; i < kQueries; ++i) low[i] = high[i] = hn::Zero(d);
    for (std::int64_t c = 0; c < columns; ++c) {
      const V one = hn::Load(d, panel + c * kTile + j), two = hn::Load(d, panel + c * kTile + j + kLanes);
      for (int i = 0; i < kQueries; ++i) {
        const V q = hn::Set(d, queries[i * columns + c]);
        low[i] = Policy::MulAdd(q, one, low[i]);
        high[i] = Policy::MulAdd(q, two, high[i]);
      }
    }
    for (int i = 0; i < kQueries; ++i) {
      hn::Store(hn::Mul(factor, low[i]), d, scores + i * stride + j);
      hn::Store(hn::Mul(factor, high[i]), d, scores + i * stride + j + kLanes);
    }
  }
}

template <class Policy>
void ScoreTile(const double* queries, std::int64_t count, std::int64_t columns, const double* panel,
               double scale, double* scores, std::int64_t stride) {
  constexpr int kTogether = 4;
  std::int64_t i = 0;
  for (; i + kTogether <= count; i += kTogether)
    ScoreQueries<Policy, kTogether>(queries + i * columns, columns, panel, scale, scores + i * stride,
                                    stride);
  for (; i < count; ++i)
    ScoreQueries<Policy, 1>(queries + i * columns, columns, panel, scale, scores + i * stride, stride);
}

void ScoreExact(const double* queries, std::int64_t count, std::int64_t columns, const double* panel,
                double scale, double* scores, std::int64_t stride) {
  ScoreTile<Fused>(queries, count, columns, panel, scale, scores, stride);
}

void ScoreRounded(const double* queries, std::int64_t count, std::int64_t columns, const double* panel,
                  double scale, double* scores, std::int64_t stride) {
  ScoreTile<Separate>(queries, count, columns, panel, scale, scores, stride);
}

// kVectors vectors of coordinates at a time, for one or two sets of weights.
template <int kVectors, bool kTwo>
void AddColumns(const double* HWY_RESTRICT rows, std::int64_t count, std::int64_t width,
                const double* HWY_RESTRICT first, const double* HWY_RESTRICT second, double* HWY_RESTRICT one,
                double* HWY_RESTRICT two) {
  const Doubles d;
  constexpr auto kLanes = static_cast<std::int64_t>(hn::MaxLanes(Doubles()));
  V a[kVectors], b[kVectors];
  for (int i = 0; i < kVectors; ++i) {
    a[i] = hn::Load(d, one + i * kLanes);
    b[i] = kTwo ? hn::Load(d, two + i * kLanes) : hn::Zero(d);
  }
  for (std::int64_t j = 0; j < count; ++j) {
    const V x = hn::Set(d, first[j]);
    const V y = kTwo ? hn::Set(d, second[j]) : x;
    for (int i = 0; i < kVectors; ++i) {
      const V value = hn::Load(d, rows + j * width + i * kLanes);
      a[i] = Separate::MulAdd(x, value, a[i]);
      if constexpr (kTwo) b[i] = Separate::MulAdd(y, value, b[i]);
    }
  }
  for (int i = 0; i < kVectors; ++i) {
    hn::Store(a[i], d, one + i * kLanes);
    if constexpr (kTwo) hn::Store(b[i], d, two + i * kLanes);
  }
}

template <bool kTwo>
void AddRows(const double* rows, std::int64_t count, std::int64_t width, const double* first,
             const double* second, double* one, double* two) {
  constexpr int kVectors = 4;
  constexpr auto kLanes = static_cast<std::int64_t>(hn::MaxLanes(Doubles()));
  std::int64_t c = 0;
  for (; c + kVectors * kLanes <= width; c += kVectors * kLanes)
    AddColumns<kVectors, kTwo>(rows + c, count, width, first, second, one + c, kTwo ? two + c : two);
  for (; c < width; c += kLanes)
    AddColumns<1, kTwo>(rows + c, count, width, first, second, one + c, kTwo ? two + c : two);
}

void AddOne(const double* rows, std::int64_t count, std::int64_t width, const double* first, double* one) {
  AddRows<false>(rows, count, width, first, nullptr, one, nullptr);
}

void AddTwo(const double* rows, std::int64_t count, std::int64_t width, const double* first,
            const double* second, double* one, double* two) {
  AddRows<true>(rows, count, width, first, second, one, two);
}

// Eight interleaved sums of kTerms terms, as vectors; then the rest, one by one; then their sum in order.
template <int kTerms, class Terms, class OneByOne>
std::array<double, kTerms> InterleavedSums(std::int64_t count, const Terms& terms,
                                           const OneByOne& one_by_one) {
  const Doubles d;
  constexpr auto kLanes = static_cast<std::int64_t>(hn::MaxLanes(Doubles()));
  constexpr std::int64_t kParts = kPadding / kLanes;
  V sums[kTerms][kParts];
  for (auto& row : sums) {
    for (V& sum : row) sum = hn::Zero(d);
  }
  std::int64_t j = 0;
  for (; j + kPadding <= count; j += kPadding) {
    for (std::int64_t p = 0; p < kParts; ++p) {
      V values[kTerms];
      terms(j + p * kLanes, values);
      for (int k = 0; k < kTerms; ++k) sums[k][p] = hn::Add(sums[k][p], values[k]);
    }
  }
  HWY_ALIGN double lanes[kTerms][kPadding];
  for (int k = 0; k < kTerms; ++k) {
    for (std::int64_t p = 0; p < kParts; ++p) hn::Store(sums[k][p], d, lanes[k] + p * kLanes);
  }
  for (; j < count; ++j) {
    double values[kTerms];
    one_by_one(j, values);
    for (int k = 0; k < kTerms; ++k) lanes[k][j % kPadding] += values[k];
  }
  std::array<double, kTerms> result = {};
  for (int k = 0; k < kTerms; ++k) {
    for (const double lane : lanes[k]) result[k] += lane;
  }
  return result;
}

void SumPowers(const double* scores, std::int64_t count, double reference, heads::PowerSums* to) {
  const Doubles d;
  const V shift = hn::Set(d, reference);
  const auto sums = InterleavedSums<4>(
      count,
      [=](std::int64_t j, V* values) HWY_ATTR {
        values[0] = hn::Sub(hn::LoadU(Doubles(), scores + j), shift);
        values[1] = hn::Mul(values[0], values[0]);
        values[2] = hn::Mul(values[1], values[0]);
        values[3] = hn::Mul(values[1], values[1]);
      },
      [=](std::int64_t j, double* values) {
        values[0] = scores[j] - reference;
        values[1] = values[0] * values[0];
        values[2] = values[1] * values[0];
        values[3] = values[1] * values[1];
      });
  *to = {sums[0], sums[1], sums[2], sums[3]};
}

void SubtractFrom(const double* scores, std::int64_t count, double reference, double* to) {
  const Doubles d;
  constexpr auto kLanes = static_cast<std::int64_t>(hn::MaxLanes(Doubles()));
  const V shift = hn::Set(d, reference);
  std::int64_t j = 0;
  for (; j + kLanes <= count; j += kLanes) hn::StoreU(hn::Sub(hn::LoadU(d, scores + j), shift), d, to + j);
  for (; j < count; ++j) to[j] = scores[j] - reference;
}

void SumWeights(const double* scores, const double* weights, std::int64_t count, double reference,
                heads::WeightSums* to) {
  const Doubles d;
  const V shift = hn::Set(d, reference);
  const auto sums = InterleavedSums<3>(
      count,
      [=](std::int64_t j, V* values) HWY_ATTR {
        values[0] = hn::LoadU(Doubles(), weights + j);
        values[1] = hn::Mul(values[0], values[0]);
        values[2] = hn::Mul(values[0], hn::Sub(shift, hn::LoadU(Doubles(), scores + j)));
      },
      [=](std::int64_t j, double* values) {
        values[0] = weights[j];
        values[1] = values[0] * values[0];
        values[2] = values[0] * (reference - scores[j]);
      });
  *to = {sums[0], sums[1], sums[2]};
}

}  // namespace
}  // namespace largo::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace largo {
HWY_EXPORT(ScoreExact);
HWY_EXPORT(ScoreRounded);
HWY_EXPORT(AddOne);
HWY_EXPORT(AddTwo);
HWY_EXPORT(SumPowers);
HWY_EXPORT(SubtractFrom);
HWY_EXPORT(SumWeights);

namespace heads {

void score_tile(Products products, const double* queries, std::int64_t count, std::int64_t columns,
                const double* panel, double scale, double* scores, std::int64_t stride) {
  ensure_simd_level();
  if (products == Products::exact) {
    HWY_DYNAMIC_DISPATCH(ScoreExact)(queries, count, columns, panel, scale, scores, stride);
  } else {
    HWY_DYNAMIC_DISPATCH(ScoreRounded)(queries, count, columns, panel, scale, scores, stride);
  }
}

void add_rows(const double* rows, std::int64_t count, std::int64_t width, const double* first,
              const double* second, double* one, double* two) {
  ensure_simd_level();
  if (second == nullptr) {
    HWY_DYNAMIC_DISPATCH(AddOne)(rows, count, width, first, one);
  } else {
    HWY_DYNAMIC_DISPATCH(AddTwo)(rows, count, width, first, second, one, two);
  }
}

PowerSums power_sums(const double* scores, std::int64_t count, double reference) {
  ensure_simd_level();
  PowerSums result;
  HWY_DYNAMIC_DISPATCH(SumPowers)(scores, count, reference, &result);
  return result;
}

void weigh(const double* scores, std::int64_t count, double reference, double* weights) {
  ensure_simd_level();
  HWY_DYNAMIC_DISPATCH(SubtractFrom)(scores, count, reference, weights);
  const auto size = static_cast<std::size_t>(count);
  numerics::exp(std::span<const double>(weights, size), std::span<double>(weights, size));
}

WeightSums weight_sums(const double* scores, const double* weights, std::int64_t count, double reference) {
  ensure_simd_level();
  WeightSums result;
  HWY_DYNAMIC_DISPATCH(SumWeights)(scores, weights, count, reference, &result);
  return result;
}

}  // namespace heads
}  // namespace largo
#endif
