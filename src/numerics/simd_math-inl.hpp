// Elementary functions on Highway vectors, for use inside kernels. Private: included once per SIMD level
// through hwy/foreach_target.h, like Highway's own -inl headers.
//
//   Separate, FusedExact (a b + c)             simd_multiply_add-inl.hpp
//   Exp, ExpSum, Exp2, Log                     simd_exp_log-inl.hpp
//   SinCos, SinCosPi                           simd_sincos-inl.hpp
//   NormalInverse                              simd_normal_inverse-inl.hpp
//
// Every function returns the same bits at every level: the polynomials use separate multiplications and
// additions (SSE has no fused ones, and the build sets -ffp-contract=off), and otherwise only operations that
// IEEE 754 rounds correctly. The bits of a NaN are not specified. Highway's contrib/math is not used: it
// fuses where it can, and is wrong at NaN, infinities and zero.
//
// The polynomials are weighted least-squares fits on Chebyshev nodes in 60 digits, each coefficient rounded
// to working precision before the next is fitted; the errors quoted are of the rounded polynomial.
// Measured errors of the whole functions are in largo/numerics/simd_math.hpp, asserted by the tests.
#if defined(LARGO_NUMERICS_SIMD_MATH_INL_HPP_) == defined(HWY_TARGET_TOGGLE)
#ifdef LARGO_NUMERICS_SIMD_MATH_INL_HPP_
#undef LARGO_NUMERICS_SIMD_MATH_INL_HPP_
#else
#define LARGO_NUMERICS_SIMD_MATH_INL_HPP_
#endif

#include "numerics/simd_exp_log-inl.hpp"
#include "numerics/simd_normal_inverse-inl.hpp"
#include "numerics/simd_sincos-inl.hpp"

#endif  // include guard toggled per target
