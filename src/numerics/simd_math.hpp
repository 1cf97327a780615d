// Elementary functions on arrays, vectorised for the SIMD level in use (see simd_level.hpp).
//
// All of them return the same bits at every level and at every position in the array, and define what
// happens at NaN, infinities, zeros and subnormals. Input and output may be the same array; they must not
// overlap otherwise. Arrays of different sizes throw InputError. The bits of a NaN result are not specified.
// Errors are in units in the last place (ulp) of the exact result; they are asserted in
// tests/numerics/simd_math_test.cpp from the constants below.
#pragma once

#include <span>

namespace largo::numerics {

inline constexpr double kExpMaxUlp = 0.75;
inline constexpr double kFloatExpMaxUlp = 0.85;
inline constexpr double kLogMaxUlp = 0.75;
inline constexpr double kSinCosMaxUlp = 1.0;
inline constexpr double kSinCosPiMaxUlp = 1.0;
inline constexpr double kNormalInverseMaxUlp = 3;

/// y = exp(x), error <= kExpMaxUlp (a subnormal y: <= 1 ulp). exp(-inf) = 0, exp(+inf) = +inf,
/// exp(NaN) = NaN; overflow above 709.78, gradual underflow below -708.39, 0 below -745.13.
void exp(std::span<const double> x, std::span<double> y);

/// The same in single precision, error <= kFloatExpMaxUlp (a subnormal y: <= 1 ulp).
void exp(std::span<const float> x, std::span<float> y);

/// y = log(x), error <= kLogMaxUlp. log(+-0) = -inf, log(+inf) = +inf, log(NaN) = log(x < 0) = NaN.
void log(std::span<const double> x, std::span<double> y);

/// sin(x) and cos(x), error <= kSinCosMaxUlp. sin(-0) = -0; infinities and NaN give NaN.
/// For |x| > 2^20 the C library's functions are used: one value at a time, with the bits of that library.
/// x may be the same array as sin or cos.
void sincos(std::span<const double> x, std::span<double> sin, std::span<double> cos);

/// sin(pi x) and cos(pi x), error <= kSinCosPiMaxUlp for every finite x. sin(pi (-0)) = -0, the sign of other
/// exact zeros is not specified; infinities and NaN give NaN. x may be the same array as sin or cos.
void sincospi(std::span<const double> x, std::span<double> sin, std::span<double> cos);

/// The x with P(Z <= x) = p for a standard normal Z, error <= kNormalInverseMaxUlp for every p in (0, 1).
/// p = 0 gives -inf and p = 1 gives +inf; NaN and all other p outside (0, 1) give NaN.
void normal_inverse(std::span<const double> p, std::span<double> x);

}  // namespace largo::numerics
