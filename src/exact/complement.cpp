#include "exact/complement.hpp"

#include <array>
#include <cstddef>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "exact/complement.cpp"
#include "hwy/foreach_target.h"  // must precede highway.h
#include "hwy/highway.h"

#include "largo/numerics/simd_level.hpp"

HWY_BEFORE_NAMESPACE();
namespace largo::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

template <class D>
HWY_INLINE void ComplementAt(D d, const double* z, const double* exponential, double* complement) {
  constexpr std::array kSeries = {1.0 / 39916800, 1.0 / 3628800, 1.0 / 362880, 1.0 / 40320,
                                  1.0 / 5040,     1.0 / 720,     1.0 / 120,    1.0 / 24,
                                  1.0 / 6,        1.0 / 2,       1.0};  // 1/11! to 1/1!
  const auto x = hn::LoadU(d, z);
  auto sum = hn::Set(d, kSeries[0]);
  for (std::size_t k = 1; k < kSeries.size(); ++k) sum = hn::Sub(hn::Set(d, kSeries[k]), hn::Mul(x, sum));
  const auto difference = hn::Sub(hn::Set(d, 1.0), hn::LoadU(d, exponential));
  hn::StoreU(hn::IfThenElse(hn::Lt(x, hn::Set(d, 0.125)), hn::Mul(x, sum), difference), d, complement);
}

void Complements(const double* z, const double* exponential, double* complement, std::size_t count) {
  const hn::ScalableTag<double> d;
  const std::size_t lanes = hn::Lanes(d);
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes) ComplementAt(d, z + i, exponential + i, complement + i);
  const hn::CappedTag<double, 1> one;
  for (; i < count; ++i) ComplementAt(one, z + i, exponential + i, complement + i);
}

}  // namespace
}  // namespace largo::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace largo::exact {
namespace {
HWY_EXPORT(Complements);
}  // namespace

void complements(std::span<const double> z, std::span<const double> exponential,
                 std::span<double> complement) {
  ensure_simd_level();
  HWY_DYNAMIC_DISPATCH(Complements)(z.data(), exponential.data(), complement.data(), z.size());
}

}  // namespace largo::exact
#endif  // HWY_ONCE
