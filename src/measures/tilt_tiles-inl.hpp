// The inner loops of the prompt kernel, on tiles that live in registers: scores and weights of a few tokens,
// weighted sums of a few features, each for a group of directions that lie along the SIMD lanes. Private;
// included once per SIMD level by tilt_kernel.cpp, like Highway's own -inl headers.
#if defined(LARGO_MEASURES_TILT_TILES_INL_HPP_) == defined(HWY_TARGET_TOGGLE)
#ifdef LARGO_MEASURES_TILT_TILES_INL_HPP_
#undef LARGO_MEASURES_TILT_TILES_INL_HPP_
#else
#define LARGO_MEASURES_TILT_TILES_INL_HPP_
#endif

#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "measures/weighted_sums.hpp"
#include "numerics/simd_math-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace largo::HWY_NAMESPACE {

// Tiles of accumulators must be unrolled completely to live in registers.
#undef LARGO_UNROLL
#if HWY_COMPILER_CLANG
#define LARGO_UNROLL _Pragma("clang loop unroll(full)")
#else
#define LARGO_UNROLL _Pragma("GCC unroll 16")
#endif

// Vectors of a group of kWidth directions: the widest this level has, but no wider than the group.
template <typename T, int kWidth>
struct Lanes {
  using D = hn::CappedTag<T, kWidth>;
  using V = hn::Vec<D>;
  static constexpr int kPerVector = static_cast<int>(hn::MaxLanes(D()));
  static constexpr int kVectors = kWidth / kPerVector;
  // Accumulators of a tile stay in registers: 12 of the 16 that SSE and AVX2 have. A compensated one is
  // three vectors.
  static constexpr int kScoreRows = HWY_MAX(1, 12 / kVectors);
  static constexpr int kTileRows =
      std::is_same_v<T, float> ? HWY_MAX(1, 12 / kVectors) : HWY_MAX(1, 4 / kVectors);
};

// Calls body(integral_constant<int, rows>, first) with the run-time number of rows, 1 <= rows <= kMost.
template <int kMost, typename Body>
HWY_INLINE void WithRows(std::int64_t rows, std::int64_t first, const Body& body) {
  if constexpr (kMost > 1) {
    if (rows < kMost) return WithRows<kMost - 1>(rows, first, body);
  }
  body(std::integral_constant<int, kMost>(), first);
}

// Covers [0, count) with tiles of at most kMost rows, as even as possible: a lone row would leave the
// multipliers waiting on the latency of a single chain.
template <int kMost, typename Body>
HWY_INLINE void ForEachTile(std::int64_t count, const Body& body) {
  const std::int64_t tiles = (count + kMost - 1) / kMost;
  std::int64_t first = 0;
  for (std::int64_t tile = 0; tile < tiles; ++tile) {
    const std::int64_t rows = count / tiles + (tile < count % tiles ? 1 : 0);
    WithRows<kMost>(rows, first, body);
    first += rows;
  }
}

// sum[t][q] = initial[t] + Σ_j z[t][j] a[j][q] for a tile of tokens, in registers
template <int kRows, typename T, int kWidth>
HWY_INLINE void Scores(const T* HWY_RESTRICT z, std::int64_t stride, std::int64_t dimension,
                       const T* HWY_RESTRICT a, const T* HWY_RESTRICT initial,
                       typename Lanes<T, kWidth>::V (&sum)[kRows][Lanes<T, kWidth>::kVectors]) {
  using L = Lanes<T, kWidth>;
  const typename L::D d;
  LARGO_UNROLL
  for (int r = 0; r < kRows; ++r) {
    LARGO_UNROLL
    for (int v = 0; v < L::kVectors; ++v) {
      sum[r][v] = initial == nullptr ? hn::Zero(d) : hn::Set(d, initial[r]);
    }
  }
  for (std::int64_t j = 0; j < dimension; ++j) {
    typename L::V direction[L::kVectors];
    LARGO_UNROLL
    for (int v = 0; v < L::kVectors; ++v) direction[v] = hn::Load(d, a + j * kWidth + v * L::kPerVector);
    LARGO_UNROLL
    for (int r = 0; r < kRows; ++r) {
      const auto x = hn::Set(d, z[r * stride + j]);
      LARGO_UNROLL
      for (int v = 0; v < L::kVectors; ++v) sum[r][v] = FusedExact::MulAdd(x, direction[v], sum[r][v]);
    }
  }
}

template <class D, class V>
HWY_INLINE V WeightOf(D d, V score, V reference) {
  const V difference = hn::Sub(score, reference);
  if constexpr (std::is_same_v<hn::TFromD<D>, float>) {
    return Exp2<FusedExact>(d, difference);  // at most zero wherever the result is used: see Weigh
  } else {
    // The rounding error of the subtraction matters when many terms share it. It is NaN where the difference
    // overflowed, and irrelevant where the weight vanishes.
    const V shifted = hn::Sub(difference, score);
    const V lost = hn::Sub(hn::Sub(score, hn::Sub(difference, shifted)), hn::Add(reference, shifted));
    return ExpSum(d, difference, hn::IfThenElseZero(hn::Gt(difference, hn::Set(d, -800.0)), lost));
  }
}

// sums += value, promoted to double
template <class D, class V>
HWY_INLINE void AddPromoted(D /*d*/, V value, double* HWY_RESTRICT sums) {
#if HWY_TARGET == HWY_SCALAR
  sums[0] += static_cast<double>(hn::GetLane(value));
#else
  const hn::Half<D> half;
  const hn::Rebind<double, decltype(half)> wide;
  constexpr std::size_t kHalf = hn::MaxLanes(half);
  const auto low = hn::PromoteTo(wide, hn::LowerHalf(half, value));
  const auto high = hn::PromoteTo(wide, hn::UpperHalf(half, value));
  hn::Store(hn::Add(hn::Load(wide, sums), low), wide, sums);
  hn::Store(hn::Add(hn::Load(wide, sums + kHalf), high), wide, sums + kHalf);
#endif
}

// sum += term, and the rounding error to error (Knuth's two-sum)
template <class V>
HWY_INLINE void AddCompensated(V term, V& sum, V& error) {
  const V total = hn::Add(sum, term);
  const V shifted = hn::Sub(total, sum);
  error = hn::Add(error, hn::Add(hn::Sub(sum, hn::Sub(total, shifted)), hn::Sub(term, shifted)));
  sum = total;
}

// What a pass over a block computes besides the weights, per direction.
template <int kWidth>
struct BlockTotals {
  HWY_ALIGN double partition[kWidth] = {};
  HWY_ALIGN double error[kWidth] = {};  // of the partition, in double arithmetic
  double largest[kWidth];               // scores
};

// w[t][q] = b^{<z_t, a_q> + initial[t] - reference[q]} in the base b of the kernel, their sums and the
// largest scores, while the scores stay in registers. The weights are valid only if no score lies above the
// reference.
template <typename T, int kWidth>
HWY_NOINLINE void Weigh(const T* HWY_RESTRICT z, std::int64_t stride, std::int64_t count,
                        std::int64_t dimension, const T* HWY_RESTRICT a, const T* HWY_RESTRICT initial,
                        const measures::WeightedSums& references, std::int64_t first_direction,
                        T* HWY_RESTRICT w, BlockTotals<kWidth>& totals) {
  using L = Lanes<T, kWidth>;
  const typename L::D d;
  HWY_ALIGN T reference[kWidth];
  for (int lane = 0; lane < kWidth; ++lane) {
    reference[lane] = static_cast<T>(references.reference(first_direction + lane));
  }
  typename L::V top[L::kVectors];
  typename L::V sum[L::kVectors];
  typename L::V error[L::kVectors];
  for (int v = 0; v < L::kVectors; ++v) {
    top[v] = hn::Set(d, std::numeric_limits<T>::lowest());
    sum[v] = hn::Zero(d);
    error[v] = hn::Zero(d);
  }
  ForEachTile<L::kScoreRows>(count, [&](auto rows, std::int64_t first) HWY_ATTR {
    constexpr int kRows = rows;
    typename L::V score[kRows][L::kVectors];
    Scores<kRows, T, kWidth>(z + first * stride, stride, dimension, a,
                             initial == nullptr ? nullptr : initial + first, score);
    LARGO_UNROLL
    for (int r = 0; r < kRows; ++r) {
      LARGO_UNROLL
      for (int v = 0; v < L::kVectors; ++v) {
        top[v] = hn::Max(top[v], score[r][v]);
        const auto weight = WeightOf(d, score[r][v], hn::Load(d, reference + v * L::kPerVector));
        hn::Store(weight, d, w + (first + r) * kWidth + v * L::kPerVector);
        if constexpr (std::is_same_v<T, float>) {
          sum[v] = hn::Add(sum[v], weight);
        } else {
          AddCompensated(weight, sum[v], error[v]);
        }
      }
    }
  });
  HWY_ALIGN T largest[kWidth];
  for (int v = 0; v < L::kVectors; ++v) {
    hn::Store(top[v], d, largest + v * L::kPerVector);
    if constexpr (std::is_same_v<T, float>) {
      AddPromoted(d, sum[v], totals.partition + v * L::kPerVector);
    } else {
      hn::Store(sum[v], d, totals.partition + v * L::kPerVector);
      hn::Store(error[v], d, totals.error + v * L::kPerVector);
    }
  }
  for (int lane = 0; lane < kWidth; ++lane) totals.largest[lane] = static_cast<double>(largest[lane]);
}

// sums[f][q] += Σ_t x[t][f] w[t][q] for a tile of features, float: one rounding chain per block, then to
// double. With a factor, w[t][q] factor[t] takes the place of w and is left in `scaled` for the other tiles.
template <int kRows, int kWidth, bool kScaled>
HWY_INLINE void AccumulateTile(const float* HWY_RESTRICT x, std::int64_t stride, std::int64_t count,
                               const float* HWY_RESTRICT w, const float* HWY_RESTRICT factor,
                               float* HWY_RESTRICT scaled, double* HWY_RESTRICT sums) {
  using L = Lanes<float, kWidth>;
  const typename L::D d;
  typename L::V sum[kRows][L::kVectors];
  LARGO_UNROLL
  for (int r = 0; r < kRows; ++r) {
    LARGO_UNROLL
    for (int v = 0; v < L::kVectors; ++v) sum[r][v] = hn::Zero(d);
  }
  for (std::int64_t t = 0; t < count; ++t) {
    typename L::V weight[L::kVectors];
    LARGO_UNROLL
    for (int v = 0; v < L::kVectors; ++v) {
      const std::int64_t at = t * kWidth + v * L::kPerVector;
      weight[v] = hn::Load(d, w + at);
      if constexpr (kScaled) {
        weight[v] = hn::Mul(weight[v], hn::Set(d, factor[t * stride]));
        hn::Store(weight[v], d, scaled + at);
      }
    }
    LARGO_UNROLL
    for (int r = 0; r < kRows; ++r) {
      const auto value = hn::Set(d, x[t * stride + r]);
      LARGO_UNROLL
      for (int v = 0; v < L::kVectors; ++v) sum[r][v] = FusedExact::MulAdd(value, weight[v], sum[r][v]);
    }
  }
  LARGO_UNROLL
  for (int r = 0; r < kRows; ++r) {
    LARGO_UNROLL
    for (int v = 0; v < L::kVectors; ++v) AddPromoted(d, sum[r][v], sums + r * kWidth + v * L::kPerVector);
  }
}

template <int kWidth>
HWY_NOINLINE void Accumulate(const float* HWY_RESTRICT x, std::int64_t stride, std::int64_t count,
                             std::int64_t features, const float* HWY_RESTRICT w, double* HWY_RESTRICT sums,
                             double* /*errors*/) {
  ForEachTile<Lanes<float, kWidth>::kTileRows>(features, [&](auto rows, std::int64_t first) HWY_ATTR {
    AccumulateTile<rows, kWidth, false>(x + first, stride, count, w, nullptr, nullptr, sums + first * kWidth);
  });
}

// sums[f][q] += Σ_t x[t][f] x[t][0] w[t][q]: one row of second moments. `scratch` holds a block of weights.
template <int kWidth>
HWY_NOINLINE void AccumulatePairs(const float* HWY_RESTRICT x, std::int64_t stride, std::int64_t count,
                                  std::int64_t features, const float* HWY_RESTRICT w,
                                  float* HWY_RESTRICT scratch, double* HWY_RESTRICT sums,
                                  double* /*errors*/) {
  ForEachTile<Lanes<float, kWidth>::kTileRows>(features, [&](auto rows, std::int64_t first) HWY_ATTR {
    if (first == 0) {
      AccumulateTile<rows, kWidth, true>(x, stride, count, w, x, scratch, sums);
    } else {
      AccumulateTile<rows, kWidth, false>(x + first, stride, count, scratch, nullptr, nullptr,
                                          sums + first * kWidth);
    }
  });
}

// The same in double: four tokens at a time are summed plainly, then added with compensation.
template <int kWidth>
HWY_NOINLINE void Accumulate(const double* HWY_RESTRICT x, std::int64_t stride, std::int64_t count,
                             std::int64_t features, const double* HWY_RESTRICT w, double* HWY_RESTRICT sums,
                             double* HWY_RESTRICT errors) {
  using L = Lanes<double, kWidth>;
  const typename L::D d;
  constexpr std::int64_t kPlain = 4;
  ForEachTile<L::kTileRows>(features, [&](auto rows, std::int64_t first) HWY_ATTR {
    constexpr int kRows = rows;
    typename L::V sum[kRows][L::kVectors];
    typename L::V error[kRows][L::kVectors];
    LARGO_UNROLL
    for (int r = 0; r < kRows; ++r) {
      LARGO_UNROLL
      for (int v = 0; v < L::kVectors; ++v) {
        sum[r][v] = hn::Load(d, sums + (first + r) * kWidth + v * L::kPerVector);
        error[r][v] = hn::Load(d, errors + (first + r) * kWidth + v * L::kPerVector);
      }
    }
    const double* HWY_RESTRICT feature = x + first;
    for (std::int64_t begin = 0; begin < count; begin += kPlain) {
      const std::int64_t end = HWY_MIN(count, begin + kPlain);
      LARGO_UNROLL
      for (int r = 0; r < kRows; ++r) {
        LARGO_UNROLL
        for (int v = 0; v < L::kVectors; ++v) {
          auto term = hn::Zero(d);
          for (std::int64_t t = begin; t < end; ++t) {
            term = FusedExact::MulAdd(hn::Set(d, feature[t * stride + r]),
                                      hn::Load(d, w + t * kWidth + v * L::kPerVector), term);
          }
          AddCompensated(term, sum[r][v], error[r][v]);
        }
      }
    }
    LARGO_UNROLL
    for (int r = 0; r < kRows; ++r) {
      LARGO_UNROLL
      for (int v = 0; v < L::kVectors; ++v) {
        hn::Store(sum[r][v], d, sums + (first + r) * kWidth + v * L::kPerVector);
        hn::Store(error[r][v], d, errors + (first + r) * kWidth + v * L::kPerVector);
      }
    }
  });
}

template <int kWidth>
HWY_NOINLINE void AccumulatePairs(const double* HWY_RESTRICT x, std::int64_t stride, std::int64_t count,
                                  std::int64_t features, const double* HWY_RESTRICT w,
                                  double* HWY_RESTRICT scratch, double* HWY_RESTRICT sums,
                                  double* HWY_RESTRICT errors) {
  for (std::int64_t t = 0; t < count; ++t) {
    for (int lane = 0; lane < kWidth; ++lane)
      scratch[t * kWidth + lane] = w[t * kWidth + lane] * x[t * stride];
  }
  Accumulate<kWidth>(x, stride, count, features, scratch, sums, errors);
}

// out[t][q] = w[t][q] <h_q, x_t>
template <typename T, int kWidth>
HWY_NOINLINE void ScaleByProducts(const T* HWY_RESTRICT x, std::int64_t stride, std::int64_t count,
                                  std::int64_t dimension, const T* HWY_RESTRICT h, const T* HWY_RESTRICT w,
                                  T* HWY_RESTRICT out) {
  using L = Lanes<T, kWidth>;
  const typename L::D d;
  ForEachTile<L::kScoreRows>(count, [&](auto rows, std::int64_t first) HWY_ATTR {
    constexpr int kRows = rows;
    typename L::V product[kRows][L::kVectors];
    Scores<kRows, T, kWidth>(x + first * stride, stride, dimension, h, nullptr, product);
    LARGO_UNROLL
    for (int r = 0; r < kRows; ++r) {
      LARGO_UNROLL
      for (int v = 0; v < L::kVectors; ++v) {
        const std::int64_t at = (first + r) * kWidth + v * L::kPerVector;
        hn::Store(hn::Mul(product[r][v], hn::Load(d, w + at)), d, out + at);
      }
    }
  });
}

}  // namespace largo::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // include guard toggled per target
