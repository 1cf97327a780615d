// Arithmetic with the same bits on the host and on the device.
//
// Everything here is made of operations that IEEE 754 rounds correctly on both, each written out: a b + c is
// two roundings (--fmad=false, -ffp-contract=off), fused(a, b, c) is one. The functions are the scalar twins
// of src/numerics/simd_exp_log-inl.hpp, and tests/cuda compares them with those bit for bit, without a GPU
// too.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>

#include "runtime/host_device.hpp"

#ifdef __CUDACC__
#define LARGO_UNROLL _Pragma("unroll")
#define LARGO_UNROLL_SOME _Pragma("unroll 4")
#define LARGO_UNROLL_MORE _Pragma("unroll 16")
#else
#define LARGO_UNROLL
#endif

namespace largo::cuda {

LARGO_HOST_DEVICE float fused(float a, float b, float c) {
#ifdef __CUDA_ARCH__
  return __fmaf_rn(a, b, c);
#else
  return std::fma(a, b, c);
#endif
}

LARGO_HOST_DEVICE double fused(double a, double b, double c) {
#ifdef __CUDA_ARCH__
  return __fma_rn(a, b, c);
#else
  return std::fma(a, b, c);
#endif
}

LARGO_HOST_DEVICE float root(float x) {
#ifdef __CUDA_ARCH__
  return __fsqrt_rn(x);
#else
  return std::sqrt(x);
#endif
}

using largo::root;  // of float64

LARGO_HOST_DEVICE float quotient(float a, float b) {
#ifdef __CUDA_ARCH__
  return __fdiv_rn(a, b);
#else
  return a / b;
#endif
}

template <typename To, typename From>
LARGO_HOST_DEVICE To bits_as(From from) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  memcpy(&to, &from, sizeof(To));
  return to;
}

LARGO_HOST_DEVICE bool is_finite(double x) { return (bits_as<std::uint64_t>(x) >> 52 & 0x7ff) != 0x7ff; }

/// exp(x) for finite x, of ExpSum with no tail.
LARGO_HOST_DEVICE double exponential(double x) {
  constexpr double kRound = 0x1.8p52, kLog2E = 0x1.71547652b82fep+0;
  constexpr double kLn2High = 0x1.62e42fefa3000p-1, kLn2Low = 0x1.3de6af278ece6p-42;
  constexpr std::uint64_t kOne = 0x3ff0000000000000;
  const double n_bits = x * kLog2E + kRound;
  const double n = n_bits - kRound;
  const double r_high = x - n * kLn2High;
  const double correction = n * kLn2Low - 0.0;
  const double r = r_high - correction;
  const double r_low = (r_high - r) - correction;
  const double head = 1.0 + r;
  const double head_low = r - (head - 1.0);
  const double z = r * r;
  const double odd =
      z * (z * (z * (z * 0x1.adfd93bffe702p-26 + 0x1.71ded4c954336p-19) + 0x1.a01a014ee5450p-13) +
           0x1.1111111120de0p-7) +
      0x1.5555555555516p-3;
  const double even =
      z * (z * (z * (z * 0x1.28b0b47905805p-22 + 0x1.a01996022775ap-16) + 0x1.6c16c185eeaaap-10) +
           0x1.555555554fe59p-5) +
      0x1.000000000000cp-1;
  const double rest = (r * r) * (r * odd + even);
  const double mantissa = head + (head_low + (r_low + rest));
  const double half_bits = x * (kLog2E / 2) + kRound;
  const std::uint64_t half = bits_as<std::uint64_t>(half_bits) << 52;
  const std::uint64_t whole = bits_as<std::uint64_t>(n_bits) << 52;
  const double y = (mantissa * bits_as<double>(half + kOne)) * bits_as<double>(whole - half + kOne);
  if (x < -746) return 0;
  return x > 710 ? bits_as<double>(std::uint64_t{0x7ff0000000000000}) : y;
}

/// ln(x) for positive, normal, finite x: LogOfNormal.
LARGO_HOST_DEVICE double logarithm(double x) {
  constexpr std::uint64_t kRootHalf = 0x3fe6a09e667f3bcd, kBias = 0x3ff;
  constexpr double kLn2High = 0x1.62e42fefa3000p-1, kLn2Low = 0x1.3de6af278ece6p-42;
  const std::uint64_t offset = bits_as<std::uint64_t>(x) - (kRootHalf - (kBias << 52));
  const double m = bits_as<double>((offset & 0x000fffffffffffff) + kRootHalf);
  const double k_plus = bits_as<double>(offset >> 52 | 0x4330000000000000);
  const double k = (k_plus - (0x1p52 + static_cast<double>(kBias))) + 0.0;
  const double f = m - 1.0;
  const double s = f / (f + 2.0);
  const double z = s * s;
  const double zz = z * z;
  const double odd = zz * (zz * 0x1.39a0ddfa994c2p-3 + 0x1.c71c51d50fa2ap-3) + 0x1.999999997f72dp-2;
  const double even = zz * (zz * (zz * 0x1.2f0d5e2c92795p-3 + 0x1.7466486178ecdp-3) + 0x1.249249423c734p-2) +
                      0x1.5555555555594p-1;
  const double R = z * (z * odd + even);
  const double half_square = (0.5 * f) * f;
  const double head = f - half_square;
  const double head_low = (f - head) - half_square;
  const double k_high = k * kLn2High;
  const double sum = k_high + head;
  const double sum_low = (k_high - sum) + head;
  const double small = (head_low + s * (half_square + R)) + k * kLn2Low;
  return sum + (sum_low + small);
}

/// 2^x for x <= 0: Exp2<Separate>.
LARGO_HOST_DEVICE float power_of_two(float x) {
  constexpr float kRound = 0x1.8p23F;
  const float n_bits = x + kRound;
  const float r = x - (n_bits - kRound);
  const float z = r * r;
  const float odd = z * (z * 0.00015238006017170846F + 0.0096188411116600037F) + 0.24022644758224487F;
  const float even = z * (z * 0.0013391136890277267F + 0.055503591895103455F) + 0.69314718246459961F;
  const float mantissa = r * (r * odd + even) + 1.0F;
  const float y = bits_as<float>(bits_as<std::uint32_t>(mantissa) + (bits_as<std::uint32_t>(n_bits) << 23));
  return x < -126.0F ? 0.0F : y;
}

/// 2^exponent for exponent <= 1023, with subnormal numbers; zero below them.
LARGO_HOST_DEVICE double power_of_two(std::int64_t exponent) {
  if (exponent >= -1022) return bits_as<double>(static_cast<std::uint64_t>(exponent + 1023) << 52);
  return exponent < -1074 ? 0.0 : bits_as<double>(std::uint64_t{1} << (exponent + 1074));
}

}  // namespace largo::cuda
