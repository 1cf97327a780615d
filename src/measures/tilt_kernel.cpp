// The kernel proper: compiled once per SIMD level.
#include "measures/tilt_kernel.hpp"

#include <algorithm>
#include <cstddef>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "measures/tilt_kernel.cpp"
#include "hwy/foreach_target.h"  // must precede highway.h
#include "hwy/aligned_allocator.h"
#include "hwy/highway.h"

#include "largo/numerics/simd_level.hpp"
#include "numerics/simd_math-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace largo {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// Tiles of accumulators must be unrolled completely to live in registers.
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
  static constexpr int kTileRows =
      std::is_same_v<T, float> ? HWY_MAX(1, 12 / kVectors) : HWY_MAX(1, 4 / kVectors);
};

// body(integral_constant<int, rows>, first) with the run-time number of rows, 1 <= rows <= kMost.
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

// out[t][q] = initial[t] + Σ_j z[t][j] a[j][q]
template <typename T, int kWidth>
HWY_NOINLINE void Scores(const T* HWY_RESTRICT z, std::int64_t stride, std::int64_t count, std::int64_t dimension,
                         const T* HWY_RESTRICT a, const T* HWY_RESTRICT initial, T* HWY_RESTRICT out) {
  using L = Lanes<T, kWidth>;
  const typename L::D d;
  ForEachTile<HWY_MAX(1, 12 / L::kVectors)>(count, [&](auto rows, std::int64_t first) HWY_ATTR {
    constexpr int kRows = rows;
    typename L::V sum[kRows][L::kVectors];
    LARGO_UNROLL
    for (int r = 0; r < kRows; ++r) {
      LARGO_UNROLL
      for (int v = 0; v < L::kVectors; ++v) {
        sum[r][v] = initial == nullptr ? hn::Zero(d) : hn::Set(d, initial[first + r]);
      }
    }
    const T* HWY_RESTRICT tokens = z + first * stride;
    for (std::int64_t j = 0; j < dimension; ++j) {
      typename L::V direction[L::kVectors];
      LARGO_UNROLL
      for (int v = 0; v < L::kVectors; ++v) direction[v] = hn::LoadU(d, a + j * kWidth + v * L::kPerVector);
      LARGO_UNROLL
      for (int r = 0; r < kRows; ++r) {
        const auto x = hn::Set(d, tokens[r * stride + j]);
        LARGO_UNROLL
        for (int v = 0; v < L::kVectors; ++v) sum[r][v] = hn::MulAdd(x, direction[v], sum[r][v]);
      }
    }
    LARGO_UNROLL
    for (int r = 0; r < kRows; ++r) {
      LARGO_UNROLL
      for (int v = 0; v < L::kVectors; ++v) {
        hn::Store(sum[r][v], d, out + (first + r) * kWidth + v * L::kPerVector);
      }
    }
  });
}

// largest[q] = max_t scores[t][q]
template <typename T, int kWidth>
HWY_NOINLINE void Largest(const T* HWY_RESTRICT scores, std::int64_t count, T* HWY_RESTRICT largest) {
  using L = Lanes<T, kWidth>;
  const typename L::D d;
  LARGO_UNROLL
  for (int v = 0; v < L::kVectors; ++v) {
    const T* HWY_RESTRICT column = scores + v * L::kPerVector;
    auto top = hn::Load(d, column);
    for (std::int64_t t = 1; t < count; ++t) top = hn::Max(top, hn::Load(d, column + t * kWidth));
    hn::Store(top, d, largest + v * L::kPerVector);
  }
}

template <class D, class V>
HWY_INLINE V WeightOf(D d, V score, V reference) {
  const V difference = hn::Sub(score, reference);
  if constexpr (std::is_same_v<hn::TFromD<D>, float>) {
    return ExpFused(d, difference);
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
  hn::StoreU(hn::Add(hn::LoadU(wide, sums), low), wide, sums);
  hn::StoreU(hn::Add(hn::LoadU(wide, sums + kHalf), high), wide, sums + kHalf);
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

// scores become weights, in place, and are added to the partition sums
template <typename T, int kWidth>
HWY_NOINLINE void Weights(const T* HWY_RESTRICT reference, std::int64_t count, T* HWY_RESTRICT scores,
                          double* HWY_RESTRICT sums, double* HWY_RESTRICT errors) {
  using L = Lanes<T, kWidth>;
  const typename L::D d;
  LARGO_UNROLL
  for (int v = 0; v < L::kVectors; ++v) {
    const int lane = v * L::kPerVector;
    const auto base = hn::Load(d, reference + lane);
    T* HWY_RESTRICT column = scores + lane;
    if constexpr (std::is_same_v<T, float>) {
      auto sum = hn::Zero(d);
      for (std::int64_t t = 0; t < count; ++t) {
        const auto weight = WeightOf(d, hn::Load(d, column + t * kWidth), base);
        hn::Store(weight, d, column + t * kWidth);
        sum = hn::Add(sum, weight);
      }
      AddPromoted(d, sum, sums + lane);
    } else {
      auto sum = hn::LoadU(d, sums + lane);
      auto error = hn::LoadU(d, errors + lane);
      for (std::int64_t t = 0; t < count; ++t) {
        const auto weight = WeightOf(d, hn::Load(d, column + t * kWidth), base);
        hn::Store(weight, d, column + t * kWidth);
        AddCompensated(weight, sum, error);
      }
      hn::StoreU(sum, d, sums + lane);
      hn::StoreU(error, d, errors + lane);
    }
  }
}

// sums[f][q] += Σ_t x[t][f] w[t][q], float: one rounding chain per block, then to double.
template <int kWidth>
HWY_NOINLINE void Accumulate(const float* HWY_RESTRICT x, std::int64_t stride, std::int64_t count,
                             std::int64_t features, const float* HWY_RESTRICT w, double* HWY_RESTRICT sums,
                             double* /*errors*/) {
  using L = Lanes<float, kWidth>;
  const typename L::D d;
  ForEachTile<L::kTileRows>(features, [&](auto rows, std::int64_t first) HWY_ATTR {
    constexpr int kRows = rows;
    typename L::V sum[kRows][L::kVectors];
    LARGO_UNROLL
    for (int r = 0; r < kRows; ++r) {
      LARGO_UNROLL
      for (int v = 0; v < L::kVectors; ++v) sum[r][v] = hn::Zero(d);
    }
    const float* HWY_RESTRICT feature = x + first;
    for (std::int64_t t = 0; t < count; ++t) {
      typename L::V weight[L::kVectors];
      LARGO_UNROLL
      for (int v = 0; v < L::kVectors; ++v) weight[v] = hn::Load(d, w + t * kWidth + v * L::kPerVector);
      LARGO_UNROLL
      for (int r = 0; r < kRows; ++r) {
        const auto value = hn::Set(d, feature[t * stride + r]);
        LARGO_UNROLL
        for (int v = 0; v < L::kVectors; ++v) sum[r][v] = hn::MulAdd(value, weight[v], sum[r][v]);
      }
    }
    LARGO_UNROLL
    for (int r = 0; r < kRows; ++r) {
      LARGO_UNROLL
      for (int v = 0; v < L::kVectors; ++v) {
        AddPromoted(d, sum[r][v], sums + (first + r) * kWidth + v * L::kPerVector);
      }
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
        sum[r][v] = hn::LoadU(d, sums + (first + r) * kWidth + v * L::kPerVector);
        error[r][v] = hn::LoadU(d, errors + (first + r) * kWidth + v * L::kPerVector);
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
            term = hn::MulAdd(hn::Set(d, feature[t * stride + r]),
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
        hn::StoreU(sum[r][v], d, sums + (first + r) * kWidth + v * L::kPerVector);
        hn::StoreU(error[r][v], d, errors + (first + r) * kWidth + v * L::kPerVector);
      }
    }
  });
}

// out[t][q] = w[t][q] x[t]
template <typename T, int kWidth>
HWY_NOINLINE void Scale(const T* HWY_RESTRICT w, const T* HWY_RESTRICT x, std::int64_t stride, std::int64_t count,
                        T* HWY_RESTRICT out) {
  using L = Lanes<T, kWidth>;
  const typename L::D d;
  for (std::int64_t t = 0; t < count; ++t) {
    const auto factor = hn::Set(d, x[t * stride]);
    LARGO_UNROLL
    for (int v = 0; v < L::kVectors; ++v) {
      const std::int64_t at = t * kWidth + v * L::kPerVector;
      hn::Store(hn::Mul(hn::Load(d, w + at), factor), d, out + at);
    }
  }
}

// Rows of a block copied to scratch start an odd number of cache lines apart: at a power of two they would
// all fall into a few sets of the first-level cache and evict each other.
template <typename T>
constexpr std::int64_t PaddedStride(std::int64_t dimension) {
  constexpr std::int64_t line = 64 / sizeof(T);
  return ((dimension + line - 1) / line | 1) * line;
}

// Scratch of one segment, aligned for any level.
template <typename T>
struct Scratch {
  explicit Scratch(std::int64_t dimension, std::int64_t directions)
      : tokens(hwy::AllocateAligned<T>(static_cast<std::size_t>(kBlock * PaddedStride<T>(dimension)))),
        centred(hwy::AllocateAligned<T>(static_cast<std::size_t>(kBlock * PaddedStride<T>(dimension)))),
        weights(hwy::AllocateAligned<T>(static_cast<std::size_t>(kBlock * directions))),
        products(hwy::AllocateAligned<T>(static_cast<std::size_t>(kBlock * directions))) {}
  hwy::AlignedFreeUniquePtr<T[]> tokens, centred, weights, products;
};

template <typename T, int kWidth>
class Segment {
 public:
  Segment(const TiltProblem<T>& problem, WeightedSums& sums)
      : problem_(problem),
        sums_(sums),
        layout_(problem.task, problem.dimension()),
        centred_stride_(PaddedStride<T>(problem.dimension())),
        scratch_(problem.dimension(), problem.groups * kWidth) {}

  void Run(std::int64_t begin, std::int64_t end) {
    for (std::int64_t first = begin; first < end; first += kBlock) Block(first, HWY_MIN(kBlock, end - first));
  }

 private:
  void Block(std::int64_t first, std::int64_t count) {
    const std::int64_t dimension = problem_.dimension();
    LoadTokens(first, count);
    for (std::int64_t g = 0; g < problem_.groups; ++g) GroupWeights(g, first, count);

    if (layout_.centred > layout_.tokens) {
      for (std::int64_t g = 0; g < problem_.groups; ++g) {
        Sum(g, layout_.tokens, tokens_, stride_, count, dimension, WeightsOf(g));
      }
    }
    if (layout_.rows == layout_.centred) return;

    const T* HWY_RESTRICT centred = scratch_.centred.get();
    for (std::int64_t g = 0; g < problem_.groups; ++g) {
      Sum(g, layout_.centred, centred, centred_stride_, count, dimension, WeightsOf(g));
    }
    if (problem_.task == TiltTask::covariance) SumPairs(count);
    if (problem_.task == TiltTask::covariance_product) SumProducts(count);
  }

  // Points tokens_ at the block: in place when the prompt is contiguous and of type T, else a packed copy.
  void LoadTokens(std::int64_t first, std::int64_t count) {
    const ArrayView& view = problem_.tokens;
    const std::int64_t dimension = view.columns;
    constexpr auto kScalar = std::is_same_v<T, float> ? Scalar::float32 : Scalar::float64;
    const bool in_place = view.column_stride == 1 && view.scalar == kScalar;
    if (in_place) {
      tokens_ = static_cast<const T*>(view.data) + first * view.row_stride;
      stride_ = view.row_stride;
    } else {
      T* HWY_RESTRICT packed = scratch_.tokens.get();
      if (view.scalar == Scalar::float32) {
        Pack(static_cast<const float*>(view.data), first, count, packed);
      } else {
        Pack(static_cast<const double*>(view.data), first, count, packed);
      }
      tokens_ = packed;
      stride_ = PaddedStride<T>(dimension);
    }
    if (!problem_.centre.empty()) {
      T* HWY_RESTRICT centred = scratch_.centred.get();
      for (std::int64_t t = 0; t < count; ++t) {
        for (std::int64_t j = 0; j < dimension; ++j) {
          centred[t * centred_stride_ + j] = tokens_[t * stride_ + j] - problem_.centre[static_cast<std::size_t>(j)];
        }
      }
    }
  }

  template <typename From>
  void Pack(const From* data, std::int64_t first, std::int64_t count, T* HWY_RESTRICT packed) const {
    const ArrayView& view = problem_.tokens;
    if (view.column_stride == 1) {
      for (std::int64_t t = 0; t < count; ++t) {
        const From* HWY_RESTRICT row = data + (first + t) * view.row_stride;
        T* HWY_RESTRICT to = packed + t * PaddedStride<T>(view.columns);
        for (std::int64_t j = 0; j < view.columns; ++j) to[j] = static_cast<T>(row[j]);
      }
      return;
    }
    for (std::int64_t j = 0; j < view.columns; ++j) {
      const From* column = data + first * view.row_stride + j * view.column_stride;
      for (std::int64_t t = 0; t < count; ++t) {
        packed[t * PaddedStride<T>(view.columns) + j] = static_cast<T>(column[t * view.row_stride]);
      }
    }
  }

  void GroupWeights(std::int64_t g, std::int64_t first, std::int64_t count) {
    const std::int64_t dimension = problem_.dimension();
    T initial[kBlock];
    if (problem_.log_weights != nullptr) {
      for (std::int64_t t = 0; t < count; ++t) initial[t] = static_cast<T>(problem_.log_weights[first + t]);
    }
    T* HWY_RESTRICT scores = WeightsOf(g);
    Scores<T, kWidth>(tokens_, stride_, count, dimension,
                      problem_.directions.data() + static_cast<std::size_t>(g * dimension * kWidth),
                      problem_.log_weights == nullptr ? nullptr : initial, scores);
    HWY_ALIGN T largest[kWidth];
    Largest<T, kWidth>(scores, count, largest);
    HWY_ALIGN T reference[kWidth];
    for (int lane = 0; lane < kWidth; ++lane) {
      sums_.raise(g * kWidth + lane, static_cast<double>(largest[lane]));
      reference[lane] = static_cast<T>(sums_.reference(g * kWidth + lane));
    }
    double* errors = sums_.errors(g);
    Weights<T, kWidth>(reference, count, scores, sums_.sums(g) + layout_.partition * kWidth,
                       errors == nullptr ? nullptr : errors + layout_.partition * kWidth);
  }

  // Row i of the pairs: the weights times x_i, summed against x_j for j >= i.
  void SumPairs(std::int64_t count) {
    const std::int64_t dimension = problem_.dimension();
    const T* HWY_RESTRICT centred = scratch_.centred.get();
    for (std::int64_t g = 0; g < problem_.groups; ++g) {
      std::int64_t row = layout_.pairs;
      for (std::int64_t i = 0; i < dimension; ++i) {
        Scale<T, kWidth>(WeightsOf(g), centred + i, centred_stride_, count, scratch_.products.get());
        Sum(g, row, centred + i, centred_stride_, count, dimension - i, scratch_.products.get());
        row += dimension - i;
      }
    }
  }

  // Weights times <h,x>, then summed against x.
  void SumProducts(std::int64_t count) {
    const std::int64_t dimension = problem_.dimension();
    for (std::int64_t g = 0; g < problem_.groups; ++g) {
      T* HWY_RESTRICT products = scratch_.products.get();
      Scores<T, kWidth>(scratch_.centred.get(), centred_stride_, count, dimension,
                        problem_.vectors.data() + static_cast<std::size_t>(g * dimension * kWidth), nullptr,
                        products);
      const T* HWY_RESTRICT weights = WeightsOf(g);
      for (std::int64_t i = 0; i < count * kWidth; ++i) products[i] *= weights[i];
      Sum(g, layout_.products, scratch_.centred.get(), centred_stride_, count, dimension, products);
    }
  }

  T* WeightsOf(std::int64_t g) { return scratch_.weights.get() + g * kBlock * kWidth; }

  void Sum(std::int64_t g, std::int64_t row, const T* x, std::int64_t stride, std::int64_t count,
           std::int64_t features, const T* weights) {
    double* errors = sums_.errors(g);
    Accumulate<kWidth>(x, stride, count, features, weights, sums_.sums(g) + row * kWidth,
                       errors == nullptr ? nullptr : errors + row * kWidth);
  }

  const TiltProblem<T>& problem_;
  WeightedSums& sums_;
  SumLayout layout_;
  std::int64_t centred_stride_;
  Scratch<T> scratch_;
  const T* tokens_ = nullptr;
  std::int64_t stride_ = 0;
};

void SegmentFloat(const TiltProblem<float>& problem, std::int64_t begin, std::int64_t end, WeightedSums& sums) {
  if (problem.width == 8) return Segment<float, 8>(problem, sums).Run(begin, end);
  Segment<float, 16>(problem, sums).Run(begin, end);
}

void SegmentDouble(const TiltProblem<double>& problem, std::int64_t begin, std::int64_t end, WeightedSums& sums) {
  if (problem.width == 4) return Segment<double, 4>(problem, sums).Run(begin, end);
  Segment<double, 8>(problem, sums).Run(begin, end);
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace largo
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace largo {
namespace {
HWY_EXPORT(SegmentFloat);
HWY_EXPORT(SegmentDouble);
}  // namespace

void accumulate_segment(const TiltProblem<float>& problem, std::int64_t begin, std::int64_t end,
                        WeightedSums& sums) {
  ensure_simd_level();
  HWY_DYNAMIC_DISPATCH(SegmentFloat)(problem, begin, end, sums);
}

void accumulate_segment(const TiltProblem<double>& problem, std::int64_t begin, std::int64_t end,
                        WeightedSums& sums) {
  ensure_simd_level();
  HWY_DYNAMIC_DISPATCH(SegmentDouble)(problem, begin, end, sums);
}

}  // namespace largo
#endif  // HWY_ONCE
