#include "largo/random/streams.hpp"

#include <algorithm>
#include <cstddef>

#include "largo/numerics/simd_level.hpp"
#include "largo/runtime/check.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "random/streams.cpp"
#include "hwy/foreach_target.h"
// After foreach_target.h, as Highway requires.
#include "hwy/highway.h"
#include "numerics/simd_math-inl.hpp"
#include "random/philox-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace largo::HWY_NAMESPACE {

// (m + 1/2) 2^-52 with m the upper 52 bits: m becomes the fraction of a number in [1, 2), from which
// 1 - 2^-53 is subtracted exactly.
template <class DU, class VU = hn::Vec<DU>>
HWY_INLINE hn::Vec<hn::RebindToFloat<DU>> OpenUniform(DU du, VU bits) {
  const hn::RebindToFloat<DU> d;
  const VU one_to_two = hn::Or(hn::ShiftRight<12>(bits), hn::Set(du, 0x3ff0000000000000));
  return hn::Sub(hn::BitCast(d, one_to_two), hn::Set(d, 1 - 0x1p-53));
}

// Makes two draws for each of `counters` counters by `transform(du, even, odd, out)`, which stores a vector
// of interleaved pairs. A last, partial vector goes through a buffer and the same code.
template <class T, class Transform>
HWY_INLINE void FillPairs(std::uint64_t key, std::uint64_t counter_high, std::uint64_t first_counter,
                          std::size_t counters, T* out, Transform transform) {
  const hn::ScalableTag<std::uint64_t> du;
  using VU = hn::Vec<decltype(du)>;
  const std::size_t lanes = hn::Lanes(du);
  const VU step = hn::Set(du, std::uint64_t{lanes});
  VU counter = hn::Iota(du, first_counter);
  std::size_t done = 0;
  for (; done + lanes <= counters; done += lanes) {
    VU even, odd;
    Philox(du, counter, counter_high, key, even, odd);
    transform(du, even, odd, out + 2 * done);
    counter = hn::Add(counter, step);
  }
  if (done == counters) return;
  HWY_ALIGN T buffer[2 * HWY_MAX_BYTES / sizeof(T)];
  VU even, odd;
  Philox(du, counter, counter_high, key, even, odd);
  transform(du, even, odd, buffer);
  std::copy(buffer, buffer + 2 * (counters - done), out + 2 * done);
}

void BitPairs(std::uint64_t key, std::uint64_t high, std::uint64_t first, std::size_t counters,
              std::uint64_t* out) {
  FillPairs(key, high, first, counters, out, [](auto du, auto even, auto odd, std::uint64_t* to) HWY_ATTR {
    hn::StoreInterleaved2(even, odd, du, to);
  });
}

void UniformPairs(std::uint64_t key, std::uint64_t high, std::uint64_t first, std::size_t counters,
                  double* out) {
  FillPairs(key, high, first, counters, out, [](auto du, auto even, auto odd, double* to) HWY_ATTR {
    const hn::RebindToFloat<decltype(du)> d;
    hn::StoreInterleaved2(OpenUniform(du, even), OpenUniform(du, odd), d, to);
  });
}

void NormalPairs(std::uint64_t key, std::uint64_t high, std::uint64_t first, std::size_t counters,
                 double* out) {
  FillPairs(key, high, first, counters, out, [](auto du, auto even, auto odd, double* to) HWY_ATTR {
    const hn::RebindToFloat<decltype(du)> d;
    using V = hn::Vec<decltype(d)>;
    const V u = OpenUniform(du, even);
    const V v = OpenUniform(du, odd);
    const V radius = hn::Sqrt(hn::Mul(hn::Set(d, -2.0), Log(d, u)));
    V sin, cos;
    SinCosPi(d, hn::Add(v, v), sin, cos);
    hn::StoreInterleaved2(hn::Mul(radius, cos), hn::Mul(radius, sin), d, to);
  });
}

}  // namespace largo::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace largo {

HWY_EXPORT(BitPairs);
HWY_EXPORT(UniformPairs);
HWY_EXPORT(NormalPairs);

namespace {

// Draws are indexed modulo 2^64, two to a counter, so counters are modulo 2^63.
constexpr std::uint64_t kCounters = std::uint64_t{1} << 63;
constexpr std::uint64_t kSubstreamKey = 0x9E3779B97F4A7C15;

// Fills `draws` from any index: the second half of a first pair, whole pairs, the first half of a last pair.
// `pairs(first_counter, counters, out)` writes both draws of each counter.
template <class T, class Pairs>
void fill(std::uint64_t first, std::span<T> draws, Pairs pairs) {
  ensure_simd_level();
  T pair[2];
  if (first % 2 == 1 && !draws.empty()) {
    pairs(first / 2, 1, pair);
    draws.front() = pair[1];
    draws = draws.subspan(1);
    ++first;
  }
  while (draws.size() >= 2) {
    const std::uint64_t until_wrap = kCounters - first / 2;
    const std::size_t counters =
        static_cast<std::size_t>(std::min<std::uint64_t>(draws.size() / 2, until_wrap));
    pairs(first / 2, counters, draws.data());
    draws = draws.subspan(2 * counters);
    first += 2 * static_cast<std::uint64_t>(counters);
  }
  if (!draws.empty()) {
    pairs(first / 2, 1, pair);
    draws.front() = pair[0];
  }
}

}  // namespace

Stream Stream::substream(std::uint64_t k) const {
  std::uint64_t block[2];
  philox_blocks(seed_ ^ kSubstreamKey, stream_, k, block);
  return Stream(seed_, block[0]);
}

void Stream::bits(std::uint64_t first, std::span<std::uint64_t> draws) const {
  fill(first, draws, [this](std::uint64_t counter, std::size_t counters, std::uint64_t* out) {
    HWY_DYNAMIC_DISPATCH(BitPairs)(seed_, stream_, counter, counters, out);
  });
}

void Stream::uniforms(std::uint64_t first, std::span<double> draws) const {
  fill(first, draws, [this](std::uint64_t counter, std::size_t counters, double* out) {
    HWY_DYNAMIC_DISPATCH(UniformPairs)(seed_, stream_, counter, counters, out);
  });
}

void Stream::normals(std::uint64_t first, std::span<double> draws) const {
  fill(first, draws, [this](std::uint64_t counter, std::size_t counters, double* out) {
    HWY_DYNAMIC_DISPATCH(NormalPairs)(seed_, stream_, counter, counters, out);
  });
}

void philox_blocks(std::uint64_t key, std::uint64_t counter_high, std::uint64_t first_counter,
                   std::span<std::uint64_t> blocks) {
  if (blocks.size() % 2 != 0) {
    fail("philox_blocks", "size of blocks", static_cast<double>(blocks.size()), "even");
  }
  ensure_simd_level();
  HWY_DYNAMIC_DISPATCH(BitPairs)(key, counter_high, first_counter, blocks.size() / 2, blocks.data());
}

}  // namespace largo
#endif  // HWY_ONCE
