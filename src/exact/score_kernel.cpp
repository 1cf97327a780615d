#include "exact/score_kernel.hpp"

#include <array>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "exact/score_kernel.cpp"
#include "hwy/foreach_target.h"  // must precede highway.h
#include "hwy/highway.h"

#include "largo/numerics/simd_level.hpp"
#include "numerics/simd_math-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace largo::HWY_NAMESPACE {
namespace {

using namespace exact;

using D = hn::CappedTag<double, kNodesAtOnce>;
constexpr std::size_t kLanes = hn::MaxLanes(D());

// The offsets of nodes i, i+1, …
template <class D>
HWY_INLINE hn::Vec<D> Offsets(D d, const KernelNodes& nodes, std::size_t i) {
  const auto index = hn::Add(hn::Iota(d, 0.0), hn::Set(d, static_cast<double>(i)));
  return hn::Add(hn::Set(d, nodes.first), hn::Mul(index, hn::Set(d, nodes.step)));
}

void Weights(const KernelNodes& nodes, double* HWY_RESTRICT weight, double* HWY_RESTRICT growth) {
  const D d;
  const auto b = hn::Set(d, nodes.b);
  const auto rate = hn::Set(d, nodes.rate);
  for (std::size_t i = 0; i < nodes.count; i += kLanes) {
    const auto u = Offsets(d, nodes, i);
    const auto v = hn::Mul(hn::Set(d, nodes.start), hn::LoadU(d, nodes.powers + i));
    const auto fall = hn::Mul(rate, hn::Sub(v, hn::Set(d, 1.0)));
    const auto rise = hn::Mul(u, hn::Sub(b, hn::Mul(hn::Set(d, 0.5), u)));
    hn::Store(v, d, growth + i);
    hn::Store(Exp(d, hn::Sub(rise, fall)), d, weight + i);
  }
}

template <std::size_t kDegree>
void Moments(const KernelNodes& nodes, const double* HWY_RESTRICT weight, const double* HWY_RESTRICT growth,
             double shift, std::size_t powers, double* HWY_RESTRICT partial) {
  const D d;
  constexpr std::size_t kOrders = kDegree + 1;
  for (std::size_t i = 0; i < nodes.count; i += kLanes) {
    const auto G = hn::Add(Offsets(d, nodes, i), hn::Set(d, shift));
    const auto v = hn::Load(d, growth + i);
    auto term = hn::Load(d, weight + i);
    double* HWY_RESTRICT to = partial + i % kNodesAtOnce;
    for (std::size_t k = 0; k < powers; ++k) {
      auto product = term;
      for (std::size_t m = 0; m < kOrders; ++m, to += kNodesAtOnce) {
        hn::Store(hn::Add(hn::Load(d, to), product), d, to);
        if (m + 1 < kOrders) product = hn::Mul(product, G);
      }
      term = hn::Mul(term, v);
    }
  }
}

// Power sums alone, with the partial sums in registers: in memory, each addition would wait for the store of
// the last one.
template <std::size_t kPowers>
void PowerSums(const KernelNodes& nodes, const double* HWY_RESTRICT weight, const double* HWY_RESTRICT growth,
               double* HWY_RESTRICT partial) {
  const D d;
  constexpr std::size_t kVectors = kNodesAtOnce / kLanes;
  hn::Vec<D> sum[kPowers][kVectors];
  for (auto& power : sum) {
    for (auto& vector : power) vector = hn::Zero(d);
  }
  for (std::size_t i = 0; i < nodes.count; i += kNodesAtOnce) {
    for (std::size_t j = 0; j < kVectors; ++j) {
      const auto v = hn::Load(d, growth + i + j * kLanes);
      auto term = hn::Load(d, weight + i + j * kLanes);
      for (std::size_t k = 0; k < kPowers; ++k) {
        sum[k][j] = hn::Add(sum[k][j], term);
        if (k + 1 < kPowers) term = hn::Mul(term, v);
      }
    }
  }
  for (std::size_t k = 0; k < kPowers; ++k) {
    for (std::size_t j = 0; j < kVectors; ++j)
      hn::Store(sum[k][j], d, partial + k * kNodesAtOnce + j * kLanes);
  }
}

void MomentsOfDegree(const KernelNodes& nodes, const double* weight, const double* growth, double shift,
                     std::size_t powers, std::size_t degree, double* partial) {
  if (degree == 0) {
    switch (powers) {
      case 1: return PowerSums<1>(nodes, weight, growth, partial);
      case 2: return PowerSums<2>(nodes, weight, growth, partial);
      case 3: return PowerSums<3>(nodes, weight, growth, partial);
      case 4: return PowerSums<4>(nodes, weight, growth, partial);
      case 5: return PowerSums<5>(nodes, weight, growth, partial);
      default: break;
    }
  }
  switch (degree) {
    case 0: return Moments<0>(nodes, weight, growth, shift, powers, partial);
    case 1: return Moments<1>(nodes, weight, growth, shift, powers, partial);
    case 2: return Moments<2>(nodes, weight, growth, shift, powers, partial);
    case 3: return Moments<3>(nodes, weight, growth, shift, powers, partial);
    default: return Moments<4>(nodes, weight, growth, shift, powers, partial);
  }
}

// Σ_{j < kTerms} v^j / (j+1)!
template <std::size_t kTerms, class V>
HWY_INLINE V IncrementSeries(V v) {
  constexpr std::array kSeries = {1.0,
                                  1.0 / 2,
                                  1.0 / 6,
                                  1.0 / 24,
                                  1.0 / 120,
                                  1.0 / 720,
                                  1.0 / 5040,
                                  1.0 / 40320,
                                  1.0 / 362880,
                                  1.0 / 3628800,
                                  1.0 / 39916800,
                                  1.0 / 479001600,
                                  1.0 / 6227020800,
                                  1.0 / 87178291200};
  const D d;
  auto sum = hn::Set(d, kSeries[kTerms - 1]);
  for (std::size_t j = kTerms - 1; j-- > 0;) sum = hn::Add(hn::Set(d, kSeries[j]), hn::Mul(v, sum));
  return sum;
}

// Nodes from `half` on are masked out by v = 0 and weight = 0.
double Complement(const KernelNodes& nodes, const double* HWY_RESTRICT weight,
                  const double* HWY_RESTRICT growth, std::size_t half) {
  const D d;
  // Below 1/64 seven terms are enough, and most nodes lie there.
  constexpr double kSmall = 1.0 / 64;
  HWY_ALIGN double partial[kNodesAtOnce] = {};
  std::size_t i = 0;
  auto add = [&](auto value) HWY_ATTR {
    double* to = partial + i % kNodesAtOnce;
    hn::Store(hn::Add(hn::Load(d, to), value), d, to);
  };
  // Four nodes at a time at every level: the choice between the two series must not depend on the lanes.
  while (i + kNodesAtOnce <= half && nodes.rate * growth[i + kNodesAtOnce - 1] < kSmall) {
    for (const std::size_t end = i + kNodesAtOnce; i < end; i += kLanes) {
      const auto v = hn::Mul(hn::Set(d, nodes.rate), hn::Load(d, growth + i));
      add(hn::Mul(hn::Load(d, weight + i), IncrementSeries<7>(v)));
    }
  }
  for (; i < half; i += kLanes) {
    const auto inside = hn::Lt(hn::Iota(d, 0.0), hn::Set(d, static_cast<double>(half - i)));
    const auto v = hn::IfThenElseZero(inside, hn::Mul(hn::Set(d, nodes.rate), hn::Load(d, growth + i)));
    add(hn::Mul(hn::IfThenElseZero(inside, hn::Load(d, weight + i)), IncrementSeries<14>(v)));
  }
  return total(partial);
}

}  // namespace
}  // namespace largo::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <algorithm>

#include "runtime/aligned_vector.hpp"

namespace largo::exact {
namespace {
HWY_EXPORT(Weights);
HWY_EXPORT(MomentsOfDegree);
HWY_EXPORT(Complement);
}  // namespace

void score_weights(const KernelNodes& nodes, double* weight, double* growth) {
  ensure_simd_level();
  HWY_DYNAMIC_DISPATCH(Weights)(nodes, weight, growth);
}

void score_moments(const KernelNodes& nodes, const double* weight, const double* growth, double shift,
                   std::size_t powers, std::size_t degree, double* moments) {
  ensure_simd_level();
  thread_local runtime::AlignedVector<double> partial;
  const std::size_t sums = powers * (degree + 1);
  partial.assign(sums * kNodesAtOnce, 0.0);
  HWY_DYNAMIC_DISPATCH(MomentsOfDegree)(nodes, weight, growth, shift, powers, degree, partial.data());
  for (std::size_t i = 0; i < sums; ++i) {
    moments[i] = total(partial.data() + i * kNodesAtOnce);
  }
}

double score_complement(const KernelNodes& nodes, const double* weight, const double* growth,
                        std::size_t half) {
  ensure_simd_level();
  return HWY_DYNAMIC_DISPATCH(Complement)(nodes, weight, growth, half);
}

}  // namespace largo::exact
#endif  // HWY_ONCE
