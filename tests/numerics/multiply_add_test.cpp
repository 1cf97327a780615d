// FusedExact::MulAdd rounds once at every SIMD level, even where it is emulated. The reference is std::fma.
#include <cmath>
#include <cstddef>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "largo/numerics/simd_level.hpp"
#include "support/every_simd_level.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "multiply_add_test.cpp"
#include "hwy/foreach_target.h"
// This include comes after foreach_target.h, as Highway requires.
#include "hwy/highway.h"
#include "numerics/simd-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace largo::HWY_NAMESPACE {

template <typename T>
HWY_INLINE void MulAdds(const T* a, const T* b, const T* c, std::size_t count, T* y) {
  const hn::CappedTag<T, 8> d;  // counts here are multiples of eight
  for (std::size_t i = 0; i < count; i += hn::Lanes(d)) {
    hn::StoreU(FusedExact::MulAdd(hn::LoadU(d, a + i), hn::LoadU(d, b + i), hn::LoadU(d, c + i)), d, y + i);
  }
}

void FloatMulAdds(const float* a, const float* b, const float* c, std::size_t count, float* y) {
  MulAdds(a, b, c, count, y);
}

void DoubleMulAdds(const double* a, const double* b, const double* c, std::size_t count, double* y) {
  MulAdds(a, b, c, count, y);
}

}  // namespace largo::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace largo {

HWY_EXPORT(FloatMulAdds);
HWY_EXPORT(DoubleMulAdds);

namespace {

void mul_adds(const float* a, const float* b, const float* c, std::size_t count, float* y) {
  HWY_DYNAMIC_DISPATCH(FloatMulAdds)(a, b, c, count, y);
}
void mul_adds(const double* a, const double* b, const double* c, std::size_t count, double* y) {
  HWY_DYNAMIC_DISPATCH(DoubleMulAdds)(a, b, c, count, y);
}

// Few binary digits are not zero, so that sums are often halfway between two numbers except for a last digit.
template <typename T>
T sparse(std::mt19937_64& engine, int lowest, int highest) {
  constexpr int kDigits = std::numeric_limits<T>::digits;
  T value = 1;
  for (auto digits = engine() % 4; digits > 0; --digits) {
    value += std::ldexp(T{1}, -static_cast<int>(engine() % kDigits));
  }
  const int exponent = lowest + static_cast<int>(engine() % static_cast<unsigned>(highest - lowest + 1));
  return std::ldexp(engine() % 2 == 0 ? value : -value, exponent);
}

// Two numbers are the same where both are NaN or their bits agree.
template <typename T>
bool same(T x, T y) {
  return (std::isnan(x) && std::isnan(y)) || (x == y && std::signbit(x) == std::signbit(y));
}

template <typename T>
void compare(const std::vector<T>& a, const std::vector<T>& b, const std::vector<T>& c) {
  std::vector<T> y(a.size());
  mul_adds(a.data(), b.data(), c.data(), a.size(), y.data());
  for (std::size_t i = 0; i < a.size(); ++i) {
    ASSERT_TRUE(same(y[i], std::fma(a[i], b[i], c[i]))) << a[i] << " * " << b[i] << " + " << c[i];
  }
}

class MultiplyAdd : public test::EverySimdLevel {
 protected:
  // `exponent` is that of the factors, and `apart` is how far the exponent of the term may be from that of
  // the product. Returns how many floats come out wrong from a sum in double, which is rounded twice.
  template <typename T>
  std::size_t random(int exponent, int apart, std::size_t count) {
    std::mt19937_64 engine(7);
    std::vector<T> a(count), b(count), c(count);
    for (std::size_t i = 0; i < count; ++i) {
      a[i] = sparse<T>(engine, -exponent, exponent);
      b[i] = sparse<T>(engine, -exponent, exponent);
      c[i] = sparse<T>(engine, std::ilogb(a[i]) + std::ilogb(b[i]) - apart,
                       std::ilogb(a[i]) + std::ilogb(b[i]) + apart);
    }
    compare(a, b, c);
    std::size_t rounded_twice = 0;
    for (std::size_t i = 0; i < count; ++i) {
      const double sum = static_cast<double>(a[i]) * static_cast<double>(b[i]) + static_cast<double>(c[i]);
      rounded_twice += static_cast<T>(sum) != std::fma(a[i], b[i], c[i]);
    }
    return rounded_twice;
  }
};

TEST_P(MultiplyAdd, FloatsRoundOnce) { EXPECT_GT(random<float>(5, 70, 400'000), 100U); }
TEST_P(MultiplyAdd, SubnormalFloatsRoundOnce) { random<float>(70, 30, 400'000); }
TEST_P(MultiplyAdd, DoublesRoundOnce) { EXPECT_GT(random<double>(5, 120, 40'000), 100U); }

TEST_P(MultiplyAdd, EdgeValues) {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  constexpr float kMax = std::numeric_limits<float>::max();
  constexpr float kMin = std::numeric_limits<float>::denorm_min();
  const std::vector<float> values{0, -0.0F, 1, -1, kInf, -kInf, kNan, kMax, -kMax, kMin, -kMin, 0x1p-70F};
  std::vector<float> a, b, c;
  for (const float x : values) {
    for (const float y : values) {
      for (const float z : values) {
        a.push_back(x);
        b.push_back(y);
        c.push_back(z);
      }
    }
  }
  compare(a, b, c);
}

INSTANTIATE_TEST_SUITE_P(EveryLevel, MultiplyAdd, ::testing::ValuesIn(simd_levels()), test::level_name);

}  // namespace
}  // namespace largo
#endif  // HWY_ONCE
