// Constants of the elementary functions. The CPU evaluates the functions on vectors (simd_math-inl.hpp), a
// GPU on single numbers (cuda/portable.cuh, cuda/draws.cuh), both with the same coefficients in the same
// order, so that they return the same bits.
#pragma once

#include <cstdint>

namespace largo::numerics {

template <class T>
struct ExpConstants;

template <>
struct ExpConstants<double> {
  static constexpr double kRound = 0x1.8p52;  // adding it leaves the nearest integer in the low bits
  static constexpr double kLog2E = 0x1.71547652b82fep+0;
  static constexpr double kLn2High = 0x1.62e42fefa3000p-1;  // 41 bits, so that the product with n is exact
  static constexpr double kLn2Low = 0x1.3de6af278ece6p-42;
  static constexpr double kZeroBelow = -746, kInfinityAbove = 710;  // between them, the scaling itself rounds
  static constexpr int kMantissaBits = 52;
  static constexpr std::uint64_t kOneBits = 0x3ff0000000000000;
  // (exp(r) - 1 - r)/r^2 on |r| <= log(2)/2, error of exp 2^-57.6
  static constexpr double kPolynomial[] = {
      0x1.000000000000cp-1,  0x1.5555555555516p-3,  0x1.555555554fe59p-5,  0x1.1111111120de0p-7,
      0x1.6c16c185eeaaap-10, 0x1.a01a014ee5450p-13, 0x1.a01996022775ap-16, 0x1.71ded4c954336p-19,
      0x1.28b0b47905805p-22, 0x1.adfd93bffe702p-26};
};

template <>
struct ExpConstants<float> {
  static constexpr float kRound = 0x1.8p23F;
  static constexpr float kLog2E = 1.4426950216293335F;
  static constexpr float kLn2High = 0.693145751953125F;  // 15 bits
  static constexpr float kLn2Low = 1.428606765330187e-06F;
  static constexpr float kZeroBelow = -104, kInfinityAbove = 89;
  static constexpr int kMantissaBits = 23;
  static constexpr std::uint32_t kOneBits = 0x3f800000;
  // as above, error 2^-28.0
  static constexpr float kPolynomial[] = {0.49999988079071045F, 0.166665181517601F, 0.041669655591249466F,
                                          0.00836896151304245F, 0.0013744814787060022F};
};

struct Exp2Constants {
  // (2^r - 1)/r on |r| <= 1/2, error of 2^r 2^-28.1
  static constexpr float kPolynomial[] = {0.69314718246459961F,   0.24022644758224487F,
                                          0.055503591895103455F,  0.0096188411116600037F,
                                          0.0013391136890277267F, 0.00015238006017170846F};
  static constexpr float kZeroBelow = -126;
};

struct LogConstants {
  static constexpr std::uint64_t kRootHalfBits = 0x3fe6a09e667f3bcd;
  static constexpr std::uint64_t kMantissaMask = 0x000fffffffffffff;
  static constexpr std::uint64_t kBias = 0x3ff;  // keeps the shifted exponent non-negative
  static constexpr std::uint64_t kTwo52Bits = 0x4330000000000000;
  // R(z)/z on z <= 0.0295, relative error of the logarithm 2^-59.4
  static constexpr double kPolynomial[] = {0x1.5555555555594p-1, 0x1.999999997f72dp-2, 0x1.249249423c734p-2,
                                           0x1.c71c51d50fa2ap-3, 0x1.7466486178ecdp-3, 0x1.39a0ddfa994c2p-3,
                                           0x1.2f0d5e2c92795p-3};
};

/// Radius and direction of normals in float32 (random/float_normals-inl.hpp).
struct PolarConstants {
  // -2 ln(1 + f)/f on √½ - 1 <= f <= √2 - 1, relative error 2^-22.4
  static constexpr float kLog[] = {-0x1.fffffep0F,  0x1.00007ap0F,  -0x1.5559dcp-1F, 0x1.ff623cp-2F,
                                   -0x1.978e2ep-2F, 0x1.614c06p-2F, -0x1.4c3d0ap-2F, 0x1.9dfa82p-3F};
  static constexpr float kMinusTwoLn2 = -1.3862943611198906F;
  // sin(πy/4)/y and cos(πy/4) in y², errors 2^-27.5 and 2^-24.8
  static constexpr float kSin[] = {0x1.921fb4p-1F, -0x1.4abb68p-4F, 0x1.46496cp-9F, -0x1.2a7638p-15F};
  static constexpr float kCos[] = {1.0F, -0x1.3bd3a0p-2F, 0x1.03b11ep-6F, -0x1.4e9b00p-12F};
  static constexpr std::int32_t kRootHalf = 0x3f3504f3;
};

}  // namespace largo::numerics
