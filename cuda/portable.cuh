// Arithmetic with the same bits on the host and on the device.
//
// Everything here is made of operations that IEEE 754 rounds correctly on both, each written out: a b + c has
// two roundings (--fmad=false, -ffp-contract=off), fused(a, b, c) has one. The functions are the scalar twins
// of src/numerics/simd_math-inl.hpp, and tests/cuda compares the two bit for bit, even without a GPU.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>

#include "numerics/function_constants.hpp"
#include "runtime/host_device.hpp"

#ifdef __CUDACC__
#define LARGO_UNROLL _Pragma("unroll")
#define LARGO_UNROLL_SOME _Pragma("unroll 4")
#define LARGO_UNROLL_MORE _Pragma("unroll 16")
#else
#define LARGO_UNROLL
#endif

namespace largo::cuda {

// Intrinsics on the device, so that no option of the compiler makes them less accurate.
#ifdef __CUDA_ARCH__
LARGO_HOST_DEVICE float fused(float a, float b, float c) { return __fmaf_rn(a, b, c); }
LARGO_HOST_DEVICE double fused(double a, double b, double c) { return __fma_rn(a, b, c); }
LARGO_HOST_DEVICE float root(float x) { return __fsqrt_rn(x); }
LARGO_HOST_DEVICE float quotient(float a, float b) { return __fdiv_rn(a, b); }
#else
LARGO_HOST_DEVICE float fused(float a, float b, float c) { return std::fma(a, b, c); }
LARGO_HOST_DEVICE double fused(double a, double b, double c) { return std::fma(a, b, c); }
LARGO_HOST_DEVICE float root(float x) { return std::sqrt(x); }
LARGO_HOST_DEVICE float quotient(float a, float b) { return a / b; }
#endif
using runtime::root;  // for float64

template <typename To, typename From>
LARGO_HOST_DEVICE To bits_as(From from) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  memcpy(&to, &from, sizeof(To));
  return to;
}

LARGO_HOST_DEVICE bool is_finite(double x) { return (bits_as<std::uint64_t>(x) >> 52 & 0x7ff) != 0x7ff; }

/// One of the two chains of Polynomial<Separate>: c[i] + c[i + 2] z + c[i + 4] z² + ..., c = C::kPolynomial.
template <typename C, int i, typename T>
LARGO_HOST_DEVICE T chain(T z) {
  constexpr T c = C::kPolynomial[i];
  if constexpr (i + 2 >= static_cast<int>(sizeof(C::kPolynomial) / sizeof(T))) {
    return c;
  } else {
    return z * chain<C, i + 2>(z) + c;
  }
}

template <typename C, typename T>
LARGO_HOST_DEVICE T polynomial(T x) {
  const T z = x * x;
  return x * chain<C, 1>(z) + chain<C, 0>(z);
}

/// exp(x) for finite x: ExpSum with no tail.
LARGO_HOST_DEVICE double exponential(double x) {
  using C = numerics::ExpConstants<double>;
  const double n_bits = x * C::kLog2E + C::kRound;
  const double n = n_bits - C::kRound;
  const double r_high = x - n * C::kLn2High;
  const double correction = n * C::kLn2Low - 0.0;
  const double r = r_high - correction;
  const double r_low = (r_high - r) - correction;
  const double head = 1.0 + r;
  const double head_low = r - (head - 1.0);
  const double rest = (r * r) * polynomial<C>(r);
  const double mantissa = head + (head_low + (r_low + rest));
  const double half_bits = x * (C::kLog2E / 2) + C::kRound;
  const std::uint64_t half = bits_as<std::uint64_t>(half_bits) << C::kMantissaBits;
  const std::uint64_t whole = bits_as<std::uint64_t>(n_bits) << C::kMantissaBits;
  const double y =
      (mantissa * bits_as<double>(half + C::kOneBits)) * bits_as<double>(whole - half + C::kOneBits);
  if (x < C::kZeroBelow) return 0;
  return x > C::kInfinityAbove ? bits_as<double>(std::uint64_t{0x7ff0000000000000}) : y;
}

/// ln(x) for positive, normal, finite x: LogOfNormal.
LARGO_HOST_DEVICE double logarithm(double x) {
  using C = numerics::LogConstants;
  const std::uint64_t offset = bits_as<std::uint64_t>(x) - (C::kRootHalfBits - (C::kBias << 52));
  const double m = bits_as<double>((offset & C::kMantissaMask) + C::kRootHalfBits);
  const double k_plus = bits_as<double>(offset >> 52 | C::kTwo52Bits);
  const double k = (k_plus - (0x1p52 + static_cast<double>(C::kBias))) + 0.0;
  const double f = m - 1.0;
  const double s = f / (f + 2.0);
  const double z = s * s;
  const double R = z * polynomial<C>(z);
  const double half_square = (0.5 * f) * f;
  const double head = f - half_square;
  const double head_low = (f - head) - half_square;
  const double k_high = k * numerics::ExpConstants<double>::kLn2High;
  const double sum = k_high + head;
  const double sum_low = (k_high - sum) + head;
  const double small = (head_low + s * (half_square + R)) + k * numerics::ExpConstants<double>::kLn2Low;
  return sum + (sum_low + small);
}

/// 2^x for x <= 0: Exp2<Separate>.
LARGO_HOST_DEVICE float power_of_two(float x) {
  using C = numerics::ExpConstants<float>;
  const float n_bits = x + C::kRound;
  const float r = x - (n_bits - C::kRound);
  const float mantissa = r * polynomial<numerics::Exp2Constants>(r) + 1.0F;
  const float y =
      bits_as<float>(bits_as<std::uint32_t>(mantissa) + (bits_as<std::uint32_t>(n_bits) << C::kMantissaBits));
  return x < numerics::Exp2Constants::kZeroBelow ? 0.0F : y;
}

/// 2^exponent for exponent <= 1023, including subnormal numbers; zero below them.
LARGO_HOST_DEVICE double power_of_two(std::int64_t exponent) {
  if (exponent >= -1022) return bits_as<double>(static_cast<std::uint64_t>(exponent + 1023) << 52);
  return exponent < -1074 ? 0.0 : bits_as<double>(std::uint64_t{1} << (exponent + 1074));
}

}  // namespace largo::cuda
