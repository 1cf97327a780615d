// The largest of some numbers, on Highway vectors. Private: included once per SIMD level through
// hwy/foreach_target.h.
#if defined(LARGO_SAMPLING_LARGEST_INL_HPP_) == defined(HWY_TARGET_TOGGLE)
#ifdef LARGO_SAMPLING_LARGEST_INL_HPP_
#undef LARGO_SAMPLING_LARGEST_INL_HPP_
#else
#define LARGO_SAMPLING_LARGEST_INL_HPP_
#endif

#include <algorithm>
#include <cstddef>

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace largo {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// Of values[0 .. count), aligned, count >= 1.
template <class D, typename T = hn::TFromD<D>>
HWY_INLINE T Largest(D d, const T* HWY_RESTRICT values, std::size_t count) {
  const std::size_t lanes = hn::MaxLanes(d);
  auto largest = hn::Set(d, values[0]);
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes) largest = hn::Max(largest, hn::Load(d, values + i));
  T result = hn::GetLane(hn::MaxOfLanes(d, largest));
  for (; i < count; ++i) result = std::max(result, values[i]);
  return result;
}

}  // namespace HWY_NAMESPACE
}  // namespace largo
HWY_AFTER_NAMESPACE();

#endif  // include guard toggled per target
