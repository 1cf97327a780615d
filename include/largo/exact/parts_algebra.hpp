// Integration by parts for softmax sums, as an exact algebra.
//
// Scores s g_i with g_i i.i.d. N(0,1), weights p_i = e^{s g_i} / Σ_j e^{s g_j}, and the sums
//
//   S(k,m) = Σ_i p_i^k g_i^m,     P_k = S(k,0),     P_1 = 1.
//
// As ∂p_j/∂g_i = s p_j (δ_ij - p_i), Gaussian integration by parts E[g_i f] = E[∂f/∂g_i] lowers m:
//
//   E[S(k,m) rest] = E[(k s (S(k,m-1) - S(k+1,m-1)) + (m-1) S(k,m-2)) rest] + one term for each factor of
//   rest, S(k',m')  ->  k' s S(k+k', m-1+m') - k' s S(k+1,m-1) S(k',m') + m' S(k+k', m+m'-2).
//
// Every step lowers the sum of the m, so any expectation of a product ends in power sums alone, whose moments
// are known. The number of tokens L does not appear: one identity serves every prompt length.
//
//   const SoftmaxExpression A = weighted_mean();
//   to_string(reduce_by_parts(A));  // s - s E[P2]
//
// Coefficients are polynomials in s with integers of 64 bits. One that leaves this range, be it on the way,
// throws InputError: no identity is ever wrong.
#pragma once

#include <compare>
#include <concepts>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "largo/numerics/estimate.hpp"

namespace largo {

/// Of k and m, and of the powers of s.
inline constexpr int kLargestSumIndex = 1'000'000;
inline constexpr int kLargestSpreadPower = 1000;

/// S(k,m), k >= 1 and m >= 0. (S(0,m) would bring L in.)
struct SoftmaxSum {
  int k = 1;
  int m = 0;
  // clang-tidy 14 takes the zero that a <=> b is compared with for a pointer.
  friend auto operator<=>(const SoftmaxSum&, const SoftmaxSum&) = default;  // NOLINT(modernize-use-nullptr)
};

/// The factors in increasing order, without S(1,0) = 1; none is the number 1.
using SoftmaxProduct = std::vector<SoftmaxSum>;

/// Σ_j c[j] s^j, the last c[j] not zero; empty is zero.
using SpreadPolynomial = std::vector<std::int64_t>;

/// A sum of products of softmax sums with coefficients in s: a random variable, a function of the g_i.
/// reduce_by_parts keeps its expectation alone.
class SoftmaxExpression {
 public:
  using Terms = std::map<SoftmaxProduct, SpreadPolynomial>;

  SoftmaxExpression() = default;  ///< zero

  /// A constant, so that B - 1 and 2 * A read as they should. Floating point does not compile.
  template <std::signed_integral Integer>
  requires(sizeof(Integer) <= sizeof(std::int64_t)) SoftmaxExpression(Integer constant) {
    add({}, {constant});
  }

  /// Adds coefficient · ∏ factors, in any order, S(1,0) allowed. InputError for k < 1, m < 0, an index or a
  /// power beyond the limits above, or a coefficient beyond 64 bits; the expression is then unchanged.
  void add(SoftmaxProduct factors, SpreadPolynomial coefficient);

  /// No coefficient is zero.
  const Terms& terms() const { return terms_; }

  bool operator==(const SoftmaxExpression&) const = default;

 private:
  Terms terms_;
};

SoftmaxExpression operator+(SoftmaxExpression left, const SoftmaxExpression& right);
SoftmaxExpression operator-(SoftmaxExpression left, const SoftmaxExpression& right);
SoftmaxExpression operator-(const SoftmaxExpression& expression);
SoftmaxExpression operator*(const SoftmaxExpression& left, const SoftmaxExpression& right);

SoftmaxExpression softmax_sum(int k, int m);  ///< S(k,m)
SoftmaxExpression power_sum(int k);           ///< P_k
SoftmaxExpression spread_power(int power);    ///< s^power

SoftmaxExpression weighted_mean();      ///< A = Σ p_i g_i
SoftmaxExpression weighted_variance();  ///< B = Σ p_i (g_i - A)²
SoftmaxExpression squared_spread();     ///< D = Σ p_i² (g_i - A)²

/// The same expectation in power sums alone (every m = 0), for every s >= 0 and every L. Exact.
/// Cost: grows with the number of distinct products on the way; 0.1 ms for (B - 1)², 10 ms for A^10.
/// InputError when a coefficient, final or on the way, leaves 64 bits, as for A^14 and (B - 1)^7.
SoftmaxExpression reduce_by_parts(const SoftmaxExpression& expression);

/// An expression whose expectation is d/ds of the expectation of the given one, as
/// d p_i^k/ds = k p_i^k (g_i - A) gives dS(k,m)/ds = k (S(k,m+1) - S(1,1) S(k,m)). Exact; to be reduced.
SoftmaxExpression derivative_in_s(const SoftmaxExpression& expression);

/// "s - s E[P2]", "- (1 + 4 s^2) E[P2^2] - 52 s^2 E[P2 P3]"; S(1,1)² not reduced is E[S(1,1)^2]; zero is "0".
std::string to_string(const SoftmaxExpression& expression);

/// E[P_{k_1} … P_{k_r}] for parts 2 <= k_1 <= … <= k_r, r >= 1.
using PowerSumMoment = std::function<Estimate(const std::vector<int>& parts)>;

/// Σ coefficient(s) · E[∏ P_k], the moments from the caller, each asked for once.
/// Domain: a reduced expression, s >= 0 finite, moments finite with errors >= 0, and a finite result;
/// otherwise InputError. Error: Σ |coefficient| error of the moment, plus a bound on the rounding here.
Estimate expectation(const SoftmaxExpression& reduced, double s, const PowerSumMoment& power_sum_moment);

}  // namespace largo
