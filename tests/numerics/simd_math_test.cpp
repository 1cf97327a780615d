// Accuracy against 50 digits, edge values, and equal bits at every SIMD level, every remainder and every
// misalignment. Since all levels give the same bits, the accuracy is measured once.
#include "numerics/simd_math.hpp"

#include <bit>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "high_precision.hpp"
#include "largo/numerics/simd_level.hpp"
#include "largo/runtime/check.hpp"

namespace largo::test::simd_math_test {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kSmallest = std::numeric_limits<double>::denorm_min();
// A subnormal result is rounded twice: to 53 bits, then to the subnormal grid.
constexpr double kSubnormalMaxUlp = 1.0;
constexpr int kRandomPoints = 20000;  // per range

std::vector<double> uniform_points(double low, double high, int count = kRandomPoints) {
  std::mt19937_64 engine(12345);
  std::uniform_real_distribution<double> law(low, high);
  std::vector<double> points(static_cast<std::size_t>(count));
  for (double& x : points) x = law(engine);
  return points;
}

/// Signs and exponents uniform: every magnitude from low to high.
std::vector<double> log_uniform_points(double low, double high, int count = kRandomPoints) {
  std::vector<double> points = uniform_points(std::log2(low), std::log2(high), count);
  for (double& x : points) {
    const double exponent = std::floor(x);
    x = std::ldexp(1 + (x - exponent), static_cast<int>(exponent));
  }
  return points;
}

template <class T>
void append(std::vector<T>& to, const std::vector<T>& from) {
  to.insert(to.end(), from.begin(), from.end());
}

template <class T>
std::vector<T> map(void (*function)(std::span<const T>, std::span<T>), const std::vector<T>& x) {
  std::vector<T> y(x.size());
  function(x, y);
  return y;
}

struct SinesAndCosines {
  std::vector<double> sines, cosines;
};
using SinCos = void (*)(std::span<const double>, std::span<double>, std::span<double>);
SinesAndCosines map(SinCos function, const std::vector<double>& x) {
  SinesAndCosines y{std::vector<double>(x.size()), std::vector<double>(x.size())};
  function(x, y.sines, y.cosines);
  return y;
}

std::vector<double> sin_of(const std::vector<double>& x) { return map(numerics::sincos, x).sines; }
std::vector<double> cos_of(const std::vector<double>& x) { return map(numerics::sincos, x).cosines; }
std::vector<double> sinpi_of(const std::vector<double>& x) { return map(numerics::sincospi, x).sines; }
std::vector<double> cospi_of(const std::vector<double>& x) { return map(numerics::sincospi, x).cosines; }

template <class T>
double max_ulp(const std::string& name, const std::vector<T>& x, const std::vector<T>& y,
               const std::function<Wide(T)>& exact) {
  double worst = 0;
  T at = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double error = ulp_error(y[i], exact(x[i]));
    if (!(error <= worst)) worst = error, at = x[i];
  }
  std::printf("  max error of %-28s %.4f ulp at %.17g (%zu points)\n", name.c_str(), worst,
              static_cast<double>(at), x.size());
  return worst;
}

Wide wide_pi() { return boost::math::constants::pi<Wide>(); }
Wide exact_exp(double x) { return exp(Wide(x)); }
Wide exact_log(double x) { return log(Wide(x)); }

// The reduction modulo 2 is exact in double.
Wide exact_sinpi(double x) { return sin(wide_pi() * Wide(std::fmod(x, 2.0))); }
Wide exact_cospi(double x) { return cos(wide_pi() * Wide(std::fmod(x, 2.0))); }

std::vector<double> exp_points() {
  std::vector<double> x = uniform_points(-1, 1);
  append(x, uniform_points(-708.39, 709.78));
  append(x, log_uniform_points(1e-20, 1));
  return x;
}

std::vector<double> log_points() {
  std::vector<double> x = uniform_points(0.5, 2);
  append(x, log_uniform_points(2.3e-308, 1.7e308));
  append(x, uniform_points(1 - 1e-5, 1 + 1e-5));
  for (int k = -50; k <= 50; ++k) x.push_back(1 + k * 0x1p-52);
  append(x, log_uniform_points(6e-324, 2.2e-308, 2000));
  return x;
}

std::vector<double> sincos_points() {
  std::vector<double> x = uniform_points(-4, 4);
  append(x, uniform_points(-0x1p20, 0x1p20));
  append(x, log_uniform_points(1e-300, 1));
  for (int n = 1; n < 600000; n += 97) x.push_back(n * 1.5707963267948966);  // nearest to the zeros
  return x;
}

std::vector<double> sincospi_points() {
  std::vector<double> x = uniform_points(-2, 2);
  append(x, uniform_points(-1e6, 1e6));
  append(x, log_uniform_points(1e-300, 1));
  append(x, log_uniform_points(1, 1e308, 2000));
  for (int k = -64; k <= 64; ++k) x.push_back(k / 16.0);
  return x;
}

std::vector<double> probability_points() {
  std::vector<double> p = uniform_points(1e-9, 1 - 1e-9, 8000);
  append(p, log_uniform_points(1e-320, 0.1, 3000));
  append(p, uniform_points(0.075 - 1e-3, 0.075 + 1e-3, 1000));
  for (const double x : log_uniform_points(1e-16, 0.1, 1500)) {
    p.push_back(0.5 - x);
    p.push_back(0.5 + x);
    p.push_back(1 - x);
  }
  std::erase_if(p, [](double x) { return x == 0.5 || x == 1; });
  return p;
}

TEST(SimdMath, ExpIsAccurate) {
  const auto x = exp_points();
  EXPECT_LE(max_ulp<double>("exp", x, map<double>(numerics::exp, x), exact_exp), numerics::kExpMaxUlp);
  const auto tiny = uniform_points(-745.13, -708.4, 5000);
  EXPECT_LE(max_ulp<double>("exp (subnormal)", tiny, map<double>(numerics::exp, tiny), exact_exp),
            kSubnormalMaxUlp);
}

TEST(SimdMath, FloatExpIsAccurate) {
  std::vector<float> x, tiny;
  for (const double v : uniform_points(-87.3, 88.7)) x.push_back(static_cast<float>(v));
  for (const double v : uniform_points(-1, 1)) x.push_back(static_cast<float>(v));
  for (const double v : uniform_points(-103.9, -87.4, 5000)) tiny.push_back(static_cast<float>(v));
  const std::function<Wide(float)> exact = [](float v) { return exp(Wide(v)); };
  EXPECT_LE(max_ulp<float>("exp (float)", x, map<float>(numerics::exp, x), exact), numerics::kFloatExpMaxUlp);
  EXPECT_LE(max_ulp<float>("exp (float, subnormal)", tiny, map<float>(numerics::exp, tiny), exact),
            kSubnormalMaxUlp);
}

TEST(SimdMath, LogIsAccurate) {
  const auto x = log_points();
  EXPECT_LE(max_ulp<double>("log", x, map<double>(numerics::log, x), exact_log), numerics::kLogMaxUlp);
}

TEST(SimdMath, SinCosIsAccurate) {
  auto x = sincos_points();
  append(x, log_uniform_points(0x1p20, 1e30, 1000));
  EXPECT_LE(max_ulp<double>("sin", x, sin_of(x), [](double v) { return Wide(sin(Wide(v))); }),
            numerics::kSinCosMaxUlp);
  EXPECT_LE(max_ulp<double>("cos", x, cos_of(x), [](double v) { return Wide(cos(Wide(v))); }),
            numerics::kSinCosMaxUlp);
}

TEST(SimdMath, SinCosPiIsAccurate) {
  const auto x = sincospi_points();
  std::vector<double> for_sin = x, for_cos = x;  // at exact zeros the reference itself is rounded
  std::erase_if(for_sin, [](double v) { return std::fmod(v, 1.0) == 0; });
  std::erase_if(for_cos, [](double v) { return std::abs(std::fmod(v, 1.0)) == 0.5; });
  EXPECT_LE(max_ulp<double>("sinpi", for_sin, sinpi_of(for_sin), exact_sinpi), numerics::kSinCosPiMaxUlp);
  EXPECT_LE(max_ulp<double>("cospi", for_cos, cospi_of(for_cos), exact_cospi), numerics::kSinCosPiMaxUlp);
}

TEST(SimdMath, NormalInverseIsAccurate) {
  const auto p = probability_points();
  const auto x = map<double>(numerics::normal_inverse, p);
  // The approximation has three ranges: the middle, the tails, and the far tails (p < exp(-25)).
  double worst[3] = {};
  for (std::size_t i = 0; i < p.size(); ++i) {
    const double distance = std::abs(p[i] - 0.5);
    const int range = distance <= 0.425 ? 0 : std::min(p[i], 1 - p[i]) >= std::exp(-25.0) ? 1 : 2;
    const double error = ulp_error(x[i], test::normal_quantile(p[i], x[i]));
    if (!(error <= worst[range])) worst[range] = error;
  }
  std::printf("  max error of normal_inverse: middle %.3f, tails %.3f, far tails %.3f ulp (%zu points)\n",
              worst[0], worst[1], worst[2], p.size());
  for (const double error : worst) EXPECT_LE(error, numerics::kNormalInverseMaxUlp);
}

struct Edge {
  double x, expected;
};

void expect_edges(const std::string& name,
                  const std::function<std::vector<double>(const std::vector<double>&)>& f,
                  const std::vector<Edge>& edges) {
  for (const std::string& level : simd_levels()) {
    force_simd_level(level);
    for (std::size_t i = 0; i < edges.size(); ++i) {
      // Each edge value is put into every lane among ordinary neighbours, which it must not disturb.
      for (std::size_t lane = 0; lane < 16; ++lane) {
        std::vector<double> x(16, 0.25);
        const double ordinary = f({0.25})[0];
        x[lane] = edges[i].x;
        const std::vector<double> y = f(x);
        for (std::size_t j = 0; j < 16; ++j) {
          const double expected = j == lane ? edges[i].expected : ordinary;
          if (std::isnan(expected)) {
            EXPECT_TRUE(std::isnan(y[j])) << name << "(" << x[j] << ") = " << y[j] << " at " << level;
          } else {
            EXPECT_EQ(std::bit_cast<std::uint64_t>(y[j]), std::bit_cast<std::uint64_t>(expected))
                << name << "(" << x[j] << ") = " << y[j] << " at " << level;
          }
        }
      }
    }
  }
  force_simd_level(simd_levels().front());
}

TEST(SimdMath, EdgeValues) {
  const auto exp_of = [](const std::vector<double>& x) { return map<double>(numerics::exp, x); };
  const auto log_of = [](const std::vector<double>& x) { return map<double>(numerics::log, x); };
  const auto normal_of = [](const std::vector<double>& x) {
    return map<double>(numerics::normal_inverse, x);
  };
  const double largest = std::numeric_limits<double>::max();
  expect_edges("exp", exp_of,
               {{kNaN, kNaN},
                {-kInf, 0},
                {kInf, kInf},
                {0, 1},
                {-0.0, 1},
                {kSmallest, 1},
                {largest, kInf},
                {-largest, 0},
                {709.79, kInf},
                {710.5, kInf},
                {-745.14, 0},
                {-745.13, kSmallest},
                {-800, 0},
                {709.782712893384, std::exp(709.782712893384)}});
  expect_edges("log", log_of,
               {{kNaN, kNaN},
                {0, -kInf},
                {-0.0, -kInf},
                {-1, kNaN},
                {-kSmallest, kNaN},
                {-kInf, kNaN},
                {kInf, kInf},
                {1, 0},
                {kSmallest, -744.4400719213812},
                {largest, 709.782712893384}});
  expect_edges("sin", sin_of,
               {{kNaN, kNaN},
                {kInf, kNaN},
                {-kInf, kNaN},
                {0, 0},
                {-0.0, -0.0},
                {kSmallest, kSmallest},
                {-kSmallest, -kSmallest},
                {1e300, std::sin(1e300)}});
  expect_edges("cos", cos_of, {{kNaN, kNaN}, {kInf, kNaN}, {-kInf, kNaN}, {0, 1}, {-0.0, 1}, {kSmallest, 1}});
  expect_edges("sinpi", sinpi_of,
               {{kNaN, kNaN},
                {kInf, kNaN},
                {-kInf, kNaN},
                {0, 0},
                {-0.0, -0.0},
                {0.5, 1},
                {-0.5, -1},
                {1.5, -1},
                {1e300, 0}});
  expect_edges("cospi", cospi_of,
               {{kNaN, kNaN},
                {kInf, kNaN},
                {-kInf, kNaN},
                {0, 1},
                {-0.0, 1},
                {1, -1},
                {-1, -1},
                {2, 1},
                {1e300, 1},
                {0x1p52 + 1, -1},
                {-0x1p52 - 1, -1},
                {0x1p53, 1}});
  EXPECT_EQ(sinpi_of({1.0, -3.0, 0x1p52 + 1}), (std::vector<double>{0, 0, 0}));
  EXPECT_EQ(cospi_of({0.5, -1.5, 0x1p49 + 0.5}), (std::vector<double>{0, 0, 0}));
  expect_edges("normal_inverse", normal_of,
               {{kNaN, kNaN},
                {0, -kInf},
                {-0.0, -kInf},
                {1, kInf},
                {0.5, 0},
                {-kSmallest, kNaN},
                {1 + 0x1p-52, kNaN},
                {kInf, kNaN},
                {-kInf, kNaN}});
}

TEST(SimdMath, FloatExpEdgeValues) {
  constexpr float kFloatInf = std::numeric_limits<float>::infinity();
  const std::vector<float> x{-kFloatInf, kFloatInf, 0, -0.0F, 1e38F, -1e38F, 88.73F, -103.98F, -103.97F};
  const std::vector<float> expected{
      0, kFloatInf, 1, 1, kFloatInf, 0, kFloatInf, 0, std::numeric_limits<float>::denorm_min()};
  for (const std::string& level : simd_levels()) {
    force_simd_level(level);
    EXPECT_EQ(map<float>(numerics::exp, x), expected) << level;
    EXPECT_TRUE(std::isnan(map<float>(numerics::exp, {std::numeric_limits<float>::quiet_NaN()})[0])) << level;
  }
  force_simd_level(simd_levels().front());
}

template <class T>
void expect_same_bits(const std::string& name, const std::function<std::vector<T>(const std::vector<T>&)>& f,
                      const std::vector<T>& x) {
  force_simd_level("scalar");
  const std::vector<T> reference = f(x);
  for (const std::string& level : simd_levels()) {
    force_simd_level(level);
    const std::vector<T> y = f(x);
    ASSERT_EQ(y, reference) << name << " at " << level;
  }
  force_simd_level(simd_levels().front());
}

TEST(SimdMath, SameBitsAtEveryLevel) {
  auto x = exp_points();
  append(x, uniform_points(-750, 715));
  expect_same_bits<double>(
      "exp", [](auto& v) { return map<double>(numerics::exp, v); }, x);
  expect_same_bits<double>(
      "log", [](auto& v) { return map<double>(numerics::log, v); }, log_points());
  auto angles = sincos_points();
  append(angles, log_uniform_points(0x1p20, 1e30, 1000));
  expect_same_bits<double>("sin", sin_of, angles);
  expect_same_bits<double>("cos", cos_of, angles);
  expect_same_bits<double>("sinpi", sinpi_of, sincospi_points());
  expect_same_bits<double>("cospi", cospi_of, sincospi_points());
  expect_same_bits<double>(
      "normal_inverse", [](auto& v) { return map<double>(numerics::normal_inverse, v); },
      probability_points());
  std::vector<float> floats;
  for (const double v : uniform_points(-110, 90)) floats.push_back(static_cast<float>(v));
  expect_same_bits<float>(
      "exp (float)", [](auto& v) { return map<float>(numerics::exp, v); }, floats);
}

// Tests every length from 0 to 40 at every offset in a vector, in place and not. Nothing outside is written.
template <class T>
void expect_every_remainder(void (*function)(std::span<const T>, std::span<T>)) {
  constexpr std::size_t kLengths = 40, kOffsets = 16;
  constexpr T kGuard = T(-7);
  std::vector<T> x(kLengths + kOffsets);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = T(0.01) + T(i) / T(64);
  for (const std::string& level : simd_levels()) {
    force_simd_level(level);
    const std::vector<T> expected = map<T>(function, x);
    for (std::size_t offset = 0; offset < kOffsets; ++offset) {
      for (std::size_t length = 0; length <= kLengths; ++length) {
        std::vector<T> y(kLengths + kOffsets + 1, kGuard);
        function(std::span<const T>(x).subspan(offset, length), std::span<T>(y).subspan(offset, length));
        std::vector<T> in_place = x;
        function(std::span<const T>(in_place).subspan(offset, length),
                 std::span<T>(in_place).subspan(offset, length));
        for (std::size_t i = 0; i < x.size(); ++i) {
          const bool inside = i >= offset && i < offset + length;
          ASSERT_EQ(y[i], inside ? expected[i] : kGuard) << level << " " << offset << " " << length;
          ASSERT_EQ(in_place[i], inside ? expected[i] : x[i]) << level << " " << offset << " " << length;
        }
      }
    }
  }
  force_simd_level(simd_levels().front());
}

TEST(SimdMath, EveryRemainderAndMisalignment) {
  expect_every_remainder<double>(numerics::exp);
  expect_every_remainder<float>(numerics::exp);
  expect_every_remainder<double>(numerics::log);
  expect_every_remainder<double>(numerics::normal_inverse);
  expect_every_remainder<double>([](std::span<const double> x, std::span<double> y) {
    std::vector<double> other(x.size());
    numerics::sincos(x, y, other);
  });
  expect_every_remainder<double>([](std::span<const double> x, std::span<double> y) {
    std::vector<double> other(x.size());
    numerics::sincospi(x, other, y);
  });
}

TEST(SimdMath, SizesMustAgree) {
  std::vector<double> x(3), y(2);
  EXPECT_THROW(numerics::exp(x, y), InputError);
  EXPECT_THROW(numerics::sincos(x, x, y), InputError);
}

}  // namespace
}  // namespace largo::test::simd_math_test
