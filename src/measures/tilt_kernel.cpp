// One segment of a prompt, block by block: compiled once per SIMD level.
#include "measures/tilt_kernel.hpp"

#include <algorithm>
#include <cstddef>
#include <limits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "measures/tilt_kernel.cpp"
#include "hwy/foreach_target.h"  // must precede highway.h
#include "hwy/highway.h"

#include "largo/numerics/simd_level.hpp"
#include "measures/tilt_tiles-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace largo::HWY_NAMESPACE {
namespace {

using namespace measures;

// Rows of a block copied to scratch start an odd number of cache lines apart: at a power of two they would
// all fall into a few sets of the first-level cache and evict each other.
template <typename T>
constexpr std::int64_t PaddedStride(std::int64_t dimension) {
  constexpr std::int64_t line = 64 / sizeof(T);
  return ((dimension + line - 1) / line | 1) * line;
}

// Scratch of one segment.
template <typename T>
struct Scratch {
  Scratch(std::int64_t dimension, std::int64_t width)
      : tokens(static_cast<std::size_t>(kBlock * PaddedStride<T>(dimension))),
        centred(tokens.size()),
        weights(static_cast<std::size_t>(kBlock * width)),
        products(weights.size()) {}
  runtime::AlignedVector<T> tokens, centred, weights, products;
};

template <typename T, int kWidth>
class Segment {
 public:
  Segment(const TiltProblem<T>& problem, WeightedSums& sums)
      : problem_(problem),
        sums_(sums),
        layout_(problem.task, problem.dimension()),
        centred_stride_(PaddedStride<T>(problem.dimension())),
        scratch_(problem.dimension(), kWidth) {}

  void Run(std::int64_t begin, std::int64_t end) {
    // Whatever is larger should stay in cache: the block of tokens while the groups take turns, or, with
    // second moments, the sums of a group while the blocks pass by.
    const std::int64_t together = problem_.task == TiltTask::covariance ? 1 : problem_.groups;
    for (std::int64_t group = 0; group < problem_.groups; group += together) {
      for (std::int64_t first = begin; first < end; first += kBlock) {
        Block(first, HWY_MIN(kBlock, end - first), group, group + together);
      }
    }
  }

 private:
  void Block(std::int64_t first, std::int64_t count, std::int64_t group_begin, std::int64_t group_end) {
    const std::int64_t dimension = problem_.dimension();
    LoadTokens(first, count);
    const T* HWY_RESTRICT centred = scratch_.centred.data();
    for (std::int64_t g = group_begin; g < group_end; ++g) {
      ComputeWeights(g, first, count);
      const T* weights = scratch_.weights.data();
      if (problem_.task == TiltTask::mean || problem_.task == TiltTask::covariance) {
        Sum(g, layout_.tokens, tokens_, stride_, count, dimension, weights);
      }
      if (problem_.task == TiltTask::covariance) SumPairs(g, count);
      if (problem_.task == TiltTask::covariance_product) {
        Sum(g, layout_.centred, centred, centred_stride_, count, dimension, weights);
        SumProducts(g, count);
      }
    }
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
      T* HWY_RESTRICT packed = scratch_.tokens.data();
      if (view.scalar == Scalar::float32) {
        Pack(static_cast<const float*>(view.data), first, count, packed);
      } else {
        Pack(static_cast<const double*>(view.data), first, count, packed);
      }
      tokens_ = packed;
      stride_ = PaddedStride<T>(dimension);
    }
    if (!problem_.centre.empty()) {
      T* HWY_RESTRICT centred = scratch_.centred.data();
      for (std::int64_t t = 0; t < count; ++t) {
        for (std::int64_t j = 0; j < dimension; ++j) {
          centred[t * centred_stride_ + j] =
              tokens_[t * stride_ + j] - problem_.centre[static_cast<std::size_t>(j)];
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

  void ComputeWeights(std::int64_t g, std::int64_t first, std::int64_t count) {
    const std::int64_t dimension = problem_.dimension();
    T initial[kBlock];
    if (problem_.log_weights != nullptr) {
      for (std::int64_t t = 0; t < count; ++t)
        initial[t] = static_cast<T>(problem_.log_weights[first + t] / kScoreUnit<T>);
    }
    // A score above the reference is rare after the first block; it then raises the reference, and the block
    // is done once more.
    for (bool above = true; above;) {
      BlockTotals<kWidth> totals;
      Weigh<T, kWidth>(tokens_, stride_, count, dimension,
                       problem_.directions.data() + static_cast<std::size_t>(g * dimension * kWidth),
                       problem_.log_weights == nullptr ? nullptr : initial, sums_, g * kWidth,
                       scratch_.weights.data(), totals);
      above = false;
      for (int lane = 0; lane < kWidth; ++lane) {
        above = above || totals.largest[lane] > sums_.reference(g * kWidth + lane);
      }
      for (int lane = 0; lane < kWidth; ++lane) sums_.raise(g * kWidth + lane, totals.largest[lane]);
      if (!above) sums_.add_row(layout_.partition, g, totals.partition, totals.error);
    }
  }

  // Row i of the pairs: the weights times x_i, summed against x_j for j >= i.
  void SumPairs(std::int64_t g, std::int64_t count) {
    const std::int64_t dimension = problem_.dimension();
    const T* HWY_RESTRICT centred = scratch_.centred.data();
    std::int64_t row = layout_.pairs;
    for (std::int64_t i = 0; i < dimension; ++i) {
      double* errors = sums_.errors(g);
      AccumulatePairs<kWidth>(centred + i, centred_stride_, count, dimension - i, scratch_.weights.data(),
                              scratch_.products.data(), sums_.sums(g) + row * kWidth,
                              errors == nullptr ? nullptr : errors + row * kWidth);
      row += dimension - i;
    }
  }

  void SumProducts(std::int64_t g, std::int64_t count) {
    const std::int64_t dimension = problem_.dimension();
    const T* HWY_RESTRICT centred = scratch_.centred.data();
    ScaleByProducts<T, kWidth>(centred, centred_stride_, count, dimension,
                               problem_.vectors.data() + static_cast<std::size_t>(g * dimension * kWidth),
                               scratch_.weights.data(), scratch_.products.data());
    Sum(g, layout_.products, centred, centred_stride_, count, dimension, scratch_.products.data());
  }

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

double WeightOfOne(double score, double reference) {
  const hn::CappedTag<double, 1> d;
  return hn::GetLane(WeightOf(d, hn::Set(d, score), hn::Set(d, reference)));
}

void SegmentFloat(const TiltProblem<float>& problem, std::int64_t begin, std::int64_t end,
                  WeightedSums& sums) {
  if (problem.width == 8) return Segment<float, 8>(problem, sums).Run(begin, end);
  Segment<float, 16>(problem, sums).Run(begin, end);
}

void SegmentDouble(const TiltProblem<double>& problem, std::int64_t begin, std::int64_t end,
                   WeightedSums& sums) {
  if (problem.width == 4) return Segment<double, 4>(problem, sums).Run(begin, end);
  Segment<double, 8>(problem, sums).Run(begin, end);
}

}  // namespace
}  // namespace largo::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace largo::measures {
namespace {
HWY_EXPORT(SegmentFloat);
HWY_EXPORT(SegmentDouble);
HWY_EXPORT(WeightOfOne);
}  // namespace

double weight_of(double score, double reference) {
  ensure_simd_level();
  return HWY_DYNAMIC_DISPATCH(WeightOfOne)(score, reference);
}

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

}  // namespace largo::measures
#endif  // HWY_ONCE
