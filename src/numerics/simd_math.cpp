#include "numerics/simd_math.hpp"

#include <cstddef>

#include "largo/numerics/simd_level.hpp"
#include "largo/runtime/check.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "numerics/simd_math.cpp"
#include "hwy/foreach_target.h"
// After foreach_target.h, as Highway requires.
#include "hwy/highway.h"
#include "numerics/simd_math-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace largo::HWY_NAMESPACE {

// y[i] = f(x[i]); the last, partial vector goes through a padded buffer and the same code, so a value does
// not depend on its position.
template <class T, class Function>
void Map(const T* x, std::size_t count, T* y, Function f) {
  const hn::ScalableTag<T> d;
  const std::size_t lanes = hn::Lanes(d);
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes) hn::StoreU(f(d, hn::LoadU(d, x + i)), d, y + i);
  if (i == count) return;
  HWY_ALIGN T buffer[HWY_MAX_BYTES / sizeof(T)] = {};
  for (std::size_t j = i; j < count; ++j) buffer[j - i] = x[j];
  hn::Store(f(d, hn::Load(d, buffer)), d, buffer);
  for (std::size_t j = i; j < count; ++j) y[j] = buffer[j - i];
}

// The same for functions with two results.
template <class Function>
void Map2(const double* x, std::size_t count, double* y1, double* y2, Function f) {
  const hn::ScalableTag<double> d;
  using V = hn::Vec<decltype(d)>;
  const std::size_t lanes = hn::Lanes(d);
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    V v1, v2;
    f(d, hn::LoadU(d, x + i), v1, v2);
    hn::StoreU(v1, d, y1 + i);
    hn::StoreU(v2, d, y2 + i);
  }
  if (i == count) return;
  HWY_ALIGN double buffer1[HWY_MAX_BYTES / sizeof(double)] = {};
  HWY_ALIGN double buffer2[HWY_MAX_BYTES / sizeof(double)];
  for (std::size_t j = i; j < count; ++j) buffer1[j - i] = x[j];
  V v1, v2;
  f(d, hn::Load(d, buffer1), v1, v2);
  hn::Store(v1, d, buffer1);
  hn::Store(v2, d, buffer2);
  for (std::size_t j = i; j < count; ++j) {
    y1[j] = buffer1[j - i];
    y2[j] = buffer2[j - i];
  }
}

void ExpDoubles(const double* x, std::size_t count, double* y) {
  Map(x, count, y, [](auto d, auto v) HWY_ATTR { return Exp(d, v); });
}

void ExpFloats(const float* x, std::size_t count, float* y) {
  Map(x, count, y, [](auto d, auto v) HWY_ATTR { return Exp(d, v); });
}

void LogDoubles(const double* x, std::size_t count, double* y) {
  Map(x, count, y, [](auto d, auto v) HWY_ATTR { return Log(d, v); });
}

void NormalInverseDoubles(const double* p, std::size_t count, double* x) {
  Map(p, count, x, [](auto d, auto v) HWY_ATTR { return NormalInverse(d, v); });
}

void SinCosDoubles(const double* x, std::size_t count, double* sin, double* cos) {
  Map2(x, count, sin, cos, [](auto d, auto v, auto& s, auto& c) HWY_ATTR { SinCos(d, v, s, c); });
}

void SinCosPiDoubles(const double* x, std::size_t count, double* sin, double* cos) {
  Map2(x, count, sin, cos, [](auto d, auto v, auto& s, auto& c) HWY_ATTR { SinCosPi(d, v, s, c); });
}

}  // namespace largo::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace largo::numerics {

HWY_EXPORT(ExpDoubles);
HWY_EXPORT(ExpFloats);
HWY_EXPORT(LogDoubles);
HWY_EXPORT(NormalInverseDoubles);
HWY_EXPORT(SinCosDoubles);
HWY_EXPORT(SinCosPiDoubles);

namespace {

std::size_t check_sizes(std::string_view function, std::string_view output, std::size_t x, std::size_t y) {
  check_size(function, output, static_cast<std::ptrdiff_t>(y), static_cast<std::ptrdiff_t>(x));
  return x;
}

}  // namespace

void exp(std::span<const double> x, std::span<double> y) {
  const std::size_t count = check_sizes("exp", "y", x.size(), y.size());
  ensure_simd_level();
  HWY_DYNAMIC_DISPATCH(ExpDoubles)(x.data(), count, y.data());
}

void exp(std::span<const float> x, std::span<float> y) {
  const std::size_t count = check_sizes("exp", "y", x.size(), y.size());
  ensure_simd_level();
  HWY_DYNAMIC_DISPATCH(ExpFloats)(x.data(), count, y.data());
}

void log(std::span<const double> x, std::span<double> y) {
  const std::size_t count = check_sizes("log", "y", x.size(), y.size());
  ensure_simd_level();
  HWY_DYNAMIC_DISPATCH(LogDoubles)(x.data(), count, y.data());
}

void sincos(std::span<const double> x, std::span<double> sin, std::span<double> cos) {
  const std::size_t count = check_sizes("sincos", "sin", x.size(), sin.size());
  check_sizes("sincos", "cos", x.size(), cos.size());
  ensure_simd_level();
  HWY_DYNAMIC_DISPATCH(SinCosDoubles)(x.data(), count, sin.data(), cos.data());
}

void sincospi(std::span<const double> x, std::span<double> sin, std::span<double> cos) {
  const std::size_t count = check_sizes("sincospi", "sin", x.size(), sin.size());
  check_sizes("sincospi", "cos", x.size(), cos.size());
  ensure_simd_level();
  HWY_DYNAMIC_DISPATCH(SinCosPiDoubles)(x.data(), count, sin.data(), cos.data());
}

void normal_inverse(std::span<const double> p, std::span<double> x) {
  const std::size_t count = check_sizes("normal_inverse", "x", p.size(), x.size());
  ensure_simd_level();
  HWY_DYNAMIC_DISPATCH(NormalInverseDoubles)(p.data(), count, x.data());
}

}  // namespace largo::numerics
#endif  // HWY_ONCE
