// Functions shared by the kernels of the CPU and of a GPU. Both compilers read them; they use operations that
// IEEE 754 rounds correctly on both. a b + c has two roundings (-ffp-contract=off, --fmad=false).
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

#ifdef __CUDACC__
#define LARGO_HOST_DEVICE __host__ __device__ __forceinline__
#else
#define LARGO_HOST_DEVICE inline
#endif

namespace largo::runtime {

LARGO_HOST_DEVICE double root(double x) {
#ifdef __CUDA_ARCH__
  return __dsqrt_rn(x);
#else
  return std::sqrt(x);
#endif
}

LARGO_HOST_DEVICE double larger_of(double a, double b) { return a < b ? b : a; }   // std::max(a, b)
LARGO_HOST_DEVICE double smaller_of(double a, double b) { return b < a ? b : a; }  // std::min(a, b)
LARGO_HOST_DEVICE double size_of_number(double a) { return a < 0 ? -a : a; }

/// 1 + ⌊log2 x⌋; 0 for x = 0.
LARGO_HOST_DEVICE int bits_of(std::uint64_t x) {
#ifdef __CUDA_ARCH__
  return 64 - __clzll(static_cast<long long>(x));
#else
  return static_cast<int>(std::bit_width(x));
#endif
}

}  // namespace largo::runtime
