// The inner loop of the oracle: sums of products of two tables with a common argument, in 192-bit arithmetic.
// A general multiprecision type spends most of its time on exponents and signs; here all terms are positive
// and all sums of one call share one exponent, which makes a term about ten times cheaper.
#pragma once

#include <array>
#include <boost/multiprecision/mpfr.hpp>
#include <cstdint>
#include <vector>

namespace largo::oracle {

/// 70 digits, on the stack.
using Real = boost::multiprecision::number<
    boost::multiprecision::mpfr_float_backend<70, boost::multiprecision::allocate_stack>,
    boost::multiprecision::et_off>;

/// Positive numbers rounded to 192 bits: mantissa/2^192 · 2^exponent, mantissa in [1/2, 1)·2^192.
struct FixedTable {
  std::vector<std::array<std::uint64_t, 3>> mantissa;
  std::vector<std::int64_t> exponent;

  void push_back(const Real& value);
};

/// Σ_d term(d) d^m for m = 0..4; those above the requested order are 0.
using PowerSums = std::array<Real, 5>;

/// M_m = Σ_{i=first}^{last} a[i + shift] b[i] (i − centre)^m, m = 0..order ≤ 4.
/// Domain: the largest term is at most 4 times that at `centre`, |i − centre| < 65536.
/// Error: for each term, 2^-185 of the largest term. Cost: 18 multiplications of 64 bits per term at order 4,
/// fewer for the smaller terms.
PowerSums power_sums(const FixedTable& a, const FixedTable& b, std::int64_t shift, std::int64_t first,
                     std::int64_t last, std::int64_t centre, int order);

}  // namespace largo::oracle
