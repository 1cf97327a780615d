// The two exponentials that only kernels can call: Exp2<FusedExact>, and ExpSum, whose second argument must
// act as an exact correction of the first. They are tested at every level.
#include <cmath>
#include <cstddef>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "high_precision.hpp"
#include "largo/numerics/simd_level.hpp"
#include "support/every_simd_level.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "exp_kernels_test.cpp"
#include "hwy/foreach_target.h"
// This include comes after foreach_target.h, as Highway requires.
#include "hwy/highway.h"
#include "numerics/simd_math-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace largo::HWY_NAMESPACE {

void Exp2Floats(const float* x, std::size_t count, float* y) {
  const hn::CappedTag<float, 2> d;  // any capped tag will do; counts here are even
  for (std::size_t i = 0; i < count; i += hn::Lanes(d)) {
    hn::StoreU(Exp2<FusedExact>(d, hn::LoadU(d, x + i)), d, y + i);
  }
}

void ExpSums(const double* x, const double* tail, std::size_t count, double* y) {
  const hn::CappedTag<double, 2> d;
  for (std::size_t i = 0; i < count; i += hn::Lanes(d)) {
    hn::StoreU(ExpSum(d, hn::LoadU(d, x + i), hn::LoadU(d, tail + i)), d, y + i);
  }
}

}  // namespace largo::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace largo {

HWY_EXPORT(Exp2Floats);
HWY_EXPORT(ExpSums);

namespace {

using test::ulp_error;
using test::Wide;

constexpr double kExp2MaxUlp = 1.5;     // documented in simd_math-inl.hpp
constexpr double kExpSumMaxUlp = 0.75;  // as for exp: the correction costs nothing
constexpr std::size_t kPoints = 20000;

std::vector<double> points(double low, double high) {
  std::mt19937_64 engine(99);
  std::uniform_real_distribution<double> law(low, high);
  std::vector<double> x(kPoints);
  for (double& v : x) v = law(engine);
  return x;
}

class ExpKernels : public test::EverySimdLevel {};

TEST_P(ExpKernels, Exp2IsAccurate) {
  std::vector<float> x;
  for (const double v : points(-126, 0)) x.push_back(static_cast<float>(v));
  for (const double v : points(-1, 0)) x.push_back(static_cast<float>(v));
  std::vector<float> y(x.size());
  HWY_DYNAMIC_DISPATCH(Exp2Floats)(x.data(), x.size(), y.data());
  double worst = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    worst = std::max(worst, ulp_error(y[i], pow(Wide(2), Wide(x[i]))));
  }
  std::printf("  max error of Exp2<FusedExact> %.3f ulp\n", worst);
  EXPECT_LE(worst, kExp2MaxUlp);
}

TEST_P(ExpKernels, Exp2EdgeValues) {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  const std::vector<float> x{-kInf, 0, -0.0F, -1, -126, -126.5F, -1e30F, -3e38F};
  std::vector<float> y(x.size());
  HWY_DYNAMIC_DISPATCH(Exp2Floats)(x.data(), x.size(), y.data());
  EXPECT_EQ(y, (std::vector<float>{0, 1, 1, 0.5F, std::numeric_limits<float>::min(), 0, 0, 0}));
  const std::vector<float> nan(2, std::numeric_limits<float>::quiet_NaN());
  HWY_DYNAMIC_DISPATCH(Exp2Floats)(nan.data(), 2, y.data());
  EXPECT_TRUE(std::isnan(y[0]) && std::isnan(y[1]));
}

TEST_P(ExpKernels, TailIsAnExactCorrection) {
  const auto x = points(-700, 700);
  std::vector<double> tail(x.size()), y(x.size());
  std::mt19937_64 engine(5);
  std::uniform_real_distribution<double> law(-1, 1);
  for (std::size_t i = 0; i < x.size(); ++i) tail[i] = law(engine) * std::abs(x[i]) * 0x1p-53;
  HWY_DYNAMIC_DISPATCH(ExpSums)(x.data(), tail.data(), x.size(), y.data());
  double worst = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    worst = std::max(worst, ulp_error(y[i], exp(Wide(x[i]) + Wide(tail[i]))));
  }
  std::printf("  max error of ExpSum %.3f ulp\n", worst);
  EXPECT_LE(worst, kExpSumMaxUlp);
}

INSTANTIATE_TEST_SUITE_P(EveryLevel, ExpKernels, ::testing::ValuesIn(simd_levels()), test::level_name);

}  // namespace
}  // namespace largo
#endif  // HWY_ONCE
