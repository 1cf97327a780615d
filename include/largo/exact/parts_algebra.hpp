// Integration by parts for softmax sums, as an exact algebra.
//
// The scores are s g_i with g_i i.i.d. N(0,1), the weights p_i = e^{s g_i} / Σ_j e^{s g_j}, and the sums
//
//   S(k,m) = Σ_i p_i^k g_i^m,     P_k = S(k,0),     P_1 = 1.
//
// As ∂p_j/∂g_i = s p_j (δ_ij - p_i), Gaussian integration by parts E[g_i f] = E[∂f/∂g_i] lowers m:
//
//   E[S(k,m) rest] = E[(k s (S(k,m-1) - S(k+1,m-1)) + (m-1) S(k,m-2)) rest] + one term for each factor of
//   rest, S(k',m')  ->  k' s S(k+k', m-1+m') - k' s S(k+1,m-1) S(k',m') + m' S(k+k', m+m'-2).
//
// Every step lowers the sum of the m. So any expectation of a product reduces to power sums alone, whose
// moments are known. The number of tokens L does not appear: one identity holds for every prompt length.
//
//   const SoftmaxExpression A = weighted_mean();
//   to_string(reduce_by_parts(A));  // s - s E[P2]
//
// Coefficients are polynomials in s with 64-bit integers. A coefficient that leaves this range, even in an
// intermediate step, throws InputError, so no identity is ever wrong.
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

/// The largest k and m, and the largest power of s.
inline constexpr int kLargestSumIndex = 1'000'000;
inline constexpr int kLargestSpreadPower = 1000;

/// S(k,m), k >= 1 and m >= 0. (S(0,m) would involve L.)
struct SoftmaxSum {
  int k = 1;
  int m = 0;
  // clang-tidy 14 mistakes the zero that a <=> b is compared with for a null pointer.
  friend auto operator<=>(const SoftmaxSum&, const SoftmaxSum&) = default;  // NOLINT(modernize-use-nullptr)
};

/// The factors in increasing order, without S(1,0) = 1. An empty product is the number 1.
using SoftmaxProduct = std::vector<SoftmaxSum>;

/// Σ_j c[j] s^j with the last c[j] not zero. Empty means zero.
using SpreadPolynomial = std::vector<std::int64_t>;

/// A sum of products of softmax sums with coefficients in s: a random variable, as a function of the g_i.
/// reduce_by_parts preserves only its expectation.
class SoftmaxExpression {
 public:
  using Terms = std::map<SoftmaxProduct, SpreadPolynomial>;

  SoftmaxExpression() = default;  ///< the expression zero

  /// A constant, so that expressions such as B - 1 and 2 * A work. Floating point does not compile.
  template <std::signed_integral Integer>
  requires(sizeof(Integer) <= sizeof(std::int64_t)) SoftmaxExpression(Integer constant) {
    add({}, {constant});
  }

  /// Adds coefficient · ∏ factors, with the factors in any order; S(1,0) is allowed. InputError for k < 1,
  /// m < 0, an index or a power beyond the limits above, or a coefficient beyond 64 bits; the expression then
  /// stays unchanged.
  void add(SoftmaxProduct factors, SpreadPolynomial coefficient);

  /// The terms of the sum; no coefficient is zero.
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

/// An expression with the same expectation in power sums alone (every m = 0), for every s >= 0 and every L.
/// Exact. Cost: grows with the number of distinct products in intermediate steps; 0.1 ms for (B - 1)², 10 ms
/// for A^10. InputError if a coefficient, final or intermediate, leaves 64 bits, as for A^14 and (B - 1)^7.
SoftmaxExpression reduce_by_parts(const SoftmaxExpression& expression);

/// An expression whose expectation is d/ds of the expectation of the given one. From
/// d p_i^k/ds = k p_i^k (g_i - A) it follows that dS(k,m)/ds = k (S(k,m+1) - S(1,1) S(k,m)). Exact; the
/// result is not reduced yet.
SoftmaxExpression derivative_in_s(const SoftmaxExpression& expression);

/// For example "s - s E[P2]" or "- (1 + 4 s^2) E[P2^2] - 52 s^2 E[P2 P3]". S(1,1)², not reduced, is
/// E[S(1,1)^2]; zero is "0".
std::string to_string(const SoftmaxExpression& expression);

/// E[P_{k_1} … P_{k_r}] for parts 2 <= k_1 <= … <= k_r, r >= 1.
using PowerSumMoment = std::function<Estimate(const std::vector<int>& parts)>;

/// Σ coefficient(s) · E[∏ P_k]. The moments come from the caller; each is asked for once. Domain: a reduced
/// expression, s >= 0 finite, moments finite with errors >= 0, and a finite result; otherwise InputError.
/// Error: Σ |coefficient| times the error of the moment, plus a bound on the rounding here.
Estimate expectation(const SoftmaxExpression& reduced, double s, const PowerSumMoment& power_sum_moment);

}  // namespace largo
