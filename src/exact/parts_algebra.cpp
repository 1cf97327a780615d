#include "largo/exact/parts_algebra.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <utility>

#include <fmt/format.h>

#include "largo/runtime/check.hpp"

namespace largo {
namespace {

constexpr auto kClass = "SoftmaxExpression";

// The built-ins of GCC and Clang return true when the result does not fit.
std::int64_t checked_sum(std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  if (__builtin_add_overflow(a, b, &result)) fail(kClass, "a coefficient leaves the range of 64 bits");
  return result;
}

std::int64_t checked_product(std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  if (__builtin_mul_overflow(a, b, &result)) fail(kClass, "a coefficient leaves the range of 64 bits");
  return result;
}

void drop_zeros(SpreadPolynomial& polynomial) {
  while (!polynomial.empty() && polynomial.back() == 0) polynomial.pop_back();
}

SpreadPolynomial sum(SpreadPolynomial a, const SpreadPolynomial& b) {
  a.resize(std::max(a.size(), b.size()));
  for (std::size_t j = 0; j < b.size(); ++j) a[j] = checked_sum(a[j], b[j]);
  drop_zeros(a);
  return a;
}

SpreadPolynomial product(const SpreadPolynomial& a, const SpreadPolynomial& b) {
  if (a.empty() || b.empty()) return {};
  SpreadPolynomial result(a.size() + b.size() - 1);
  for (std::size_t i = 0; i < a.size(); ++i) {
    for (std::size_t j = 0; j < b.size(); ++j) {
      result[i + j] = checked_sum(result[i + j], checked_product(a[i], b[j]));
    }
  }
  return result;
}

SpreadPolynomial derivative(const SpreadPolynomial& polynomial) {
  SpreadPolynomial result;
  for (std::size_t j = 1; j < polynomial.size(); ++j) {
    result.push_back(checked_product(static_cast<std::int64_t>(j), polynomial[j]));
  }
  return result;
}

void check_sum(const SoftmaxSum& sum) {
  const auto check = [](const char* name, int value, int least) {
    if (value < least || value > kLargestSumIndex) {
      fail(kClass, name, fmt::format("{}", value), fmt::format("from {} to {}", least, kLargestSumIndex));
    }
  };
  check("k of S(k,m)", sum.k, 1);
  check("m of S(k,m)", sum.m, 0);
}

SoftmaxProduct with(SoftmaxProduct factors, SoftmaxSum factor) {
  factors.push_back(factor);
  return factors;
}

SoftmaxProduct without(SoftmaxProduct factors, std::size_t position) {
  factors.erase(factors.begin() + static_cast<std::ptrdiff_t>(position));
  return factors;
}

// The sum that every step by parts lowers.
std::int64_t total_m(const SoftmaxProduct& factors) {
  std::int64_t total = 0;
  for (const SoftmaxSum& factor : factors) total += factor.m;
  return total;
}

// E[coefficient S(k,m) rest], m >= 1, by one step of integration by parts.
SoftmaxExpression integrate_by_parts(SoftmaxSum chosen, const SoftmaxProduct& rest,
                                     const SpreadPolynomial& coefficient) {
  const auto [k, m] = chosen;
  SoftmaxExpression result;
  result.add(with(rest, {k, m - 1}), product({0, k}, coefficient));
  result.add(with(rest, {k + 1, m - 1}), product({0, -k}, coefficient));
  if (m >= 2) result.add(with(rest, {k, m - 2}), product({m - 1}, coefficient));
  for (std::size_t position = 0; position < rest.size(); ++position) {
    const auto [other_k, other_m] = rest[position];
    const SoftmaxProduct others = without(rest, position);
    result.add(with(others, {k + other_k, m - 1 + other_m}), product({0, other_k}, coefficient));
    result.add(with(rest, {k + 1, m - 1}), product({0, -other_k}, coefficient));
    if (other_m >= 1) {
      result.add(with(others, {k + other_k, m + other_m - 2}), product({other_m}, coefficient));
    }
  }
  return result;
}

std::string to_string(const SoftmaxProduct& factors) {
  std::string text;
  for (auto factor = factors.begin(); factor != factors.end();) {
    const auto next = std::find_if(factor, factors.end(), [&](const SoftmaxSum& f) { return f != *factor; });
    if (!text.empty()) text += ' ';
    text += factor->m == 0 ? fmt::format("P{}", factor->k) : fmt::format("S({},{})", factor->k, factor->m);
    if (next - factor > 1) text += fmt::format("^{}", next - factor);
    factor = next;
  }
  return fmt::format("E[{}]", text);
}

// "a - b + c": a sign before each summand, except a first one that is positive.
void append_summand(std::string& text, bool negative, const std::string& summand) {
  if (!text.empty()) text += ' ';
  if (negative || !text.empty()) text += negative ? "- " : "+ ";
  text += summand;
}

// The coefficient with the sign of its first power taken out; empty for one.
std::string to_string(const SpreadPolynomial& coefficient, bool negative) {
  std::string text;
  int powers = 0;
  for (std::size_t j = 0; j < coefficient.size(); ++j) {
    if (coefficient[j] == 0) continue;
    const std::string digits = fmt::format("{}", coefficient[j]).substr(coefficient[j] < 0 ? 1 : 0);
    const std::string s = j == 0 ? "" : j == 1 ? "s" : fmt::format("s^{}", j);
    append_summand(text, (coefficient[j] < 0) != negative,
                   s.empty()       ? digits
                   : digits == "1" ? s
                                   : fmt::format("{} {}", digits, s));
    ++powers;
  }
  if (powers > 1) return fmt::format("({})", text);
  return text == "1" ? "" : text;
}

}  // namespace

void SoftmaxExpression::add(SoftmaxProduct factors, SpreadPolynomial coefficient) {
  for (const SoftmaxSum& factor : factors) check_sum(factor);
  drop_zeros(coefficient);
  if (coefficient.size() > kLargestSpreadPower + 1) {
    fail(kClass, "power of s", fmt::format("{}", coefficient.size() - 1),
         fmt::format("at most {}", kLargestSpreadPower));
  }
  if (coefficient.empty()) return;
  std::erase(factors, SoftmaxSum{1, 0});
  std::sort(factors.begin(), factors.end());
  const auto term = terms_.find(factors);
  if (term == terms_.end()) {
    terms_.emplace(std::move(factors), std::move(coefficient));
    return;
  }
  SpreadPolynomial total = sum(std::move(coefficient), term->second);
  if (total.empty()) {
    terms_.erase(term);
  } else {
    term->second = std::move(total);
  }
}

SoftmaxExpression operator+(SoftmaxExpression left, const SoftmaxExpression& right) {
  for (const auto& [factors, coefficient] : right.terms()) left.add(factors, coefficient);
  return left;
}

SoftmaxExpression operator-(const SoftmaxExpression& expression) { return 0 - expression; }

SoftmaxExpression operator-(SoftmaxExpression left, const SoftmaxExpression& right) {
  for (const auto& [factors, coefficient] : right.terms()) left.add(factors, product({-1}, coefficient));
  return left;
}

SoftmaxExpression operator*(const SoftmaxExpression& left, const SoftmaxExpression& right) {
  SoftmaxExpression result;
  for (const auto& [left_factors, left_coefficient] : left.terms()) {
    for (const auto& [right_factors, right_coefficient] : right.terms()) {
      SoftmaxProduct factors = left_factors;
      factors.insert(factors.end(), right_factors.begin(), right_factors.end());
      result.add(std::move(factors), product(left_coefficient, right_coefficient));
    }
  }
  return result;
}

SoftmaxExpression softmax_sum(int k, int m) {
  SoftmaxExpression result;
  result.add({{k, m}}, {1});
  return result;
}

SoftmaxExpression power_sum(int k) { return softmax_sum(k, 0); }

SoftmaxExpression spread_power(int power) {
  if (power < 0 || power > kLargestSpreadPower) {
    fail("spread_power", "power", fmt::format("{}", power), fmt::format("from 0 to {}", kLargestSpreadPower));
  }
  SpreadPolynomial coefficient(static_cast<std::size_t>(power) + 1);
  coefficient.back() = 1;
  SoftmaxExpression result;
  result.add({}, std::move(coefficient));
  return result;
}

SoftmaxExpression weighted_mean() { return softmax_sum(1, 1); }

SoftmaxExpression weighted_variance() { return softmax_sum(1, 2) - weighted_mean() * weighted_mean(); }

SoftmaxExpression squared_spread() {
  const SoftmaxExpression A = weighted_mean();
  return softmax_sum(2, 2) - 2 * A * softmax_sum(2, 1) + A * A * power_sum(2);
}

SoftmaxExpression reduce_by_parts(const SoftmaxExpression& expression) {
  // By decreasing total m, so that like terms are gathered before they are taken apart.
  std::map<std::int64_t, SoftmaxExpression> pending;
  for (const auto& [factors, coefficient] : expression.terms()) {
    pending[total_m(factors)].add(factors, coefficient);
  }
  while (!pending.empty() && pending.rbegin()->first > 0) {
    const SoftmaxExpression highest = std::move(pending.extract(std::prev(pending.end())).mapped());
    for (const auto& [factors, coefficient] : highest.terms()) {
      const auto chosen = std::find_if(factors.begin(), factors.end(), [](SoftmaxSum f) { return f.m > 0; });
      const SoftmaxProduct rest = without(factors, static_cast<std::size_t>(chosen - factors.begin()));
      const SoftmaxExpression step = integrate_by_parts(*chosen, rest, coefficient);
      for (const auto& [new_factors, new_coefficient] : step.terms()) {
        pending[total_m(new_factors)].add(new_factors, new_coefficient);
      }
    }
  }
  return pending.empty() ? SoftmaxExpression() : pending.begin()->second;
}

SoftmaxExpression derivative_in_s(const SoftmaxExpression& expression) {
  SoftmaxExpression result;
  for (const auto& [factors, coefficient] : expression.terms()) {
    result.add(factors, derivative(coefficient));
    for (std::size_t position = 0; position < factors.size(); ++position) {
      const auto [k, m] = factors[position];
      result.add(with(without(factors, position), {k, m + 1}), product({k}, coefficient));
      result.add(with(factors, {1, 1}), product({-k}, coefficient));
    }
  }
  return result;
}

std::string to_string(const SoftmaxExpression& expression) {
  std::string text;
  for (const auto& [factors, coefficient] : expression.terms()) {
    const bool negative =
        *std::find_if(coefficient.begin(), coefficient.end(), [](auto c) { return c != 0; }) < 0;
    std::string term = to_string(coefficient, negative);
    if (!factors.empty()) {
      if (!term.empty()) term += ' ';
      term += to_string(factors);
    }
    append_summand(text, negative, term.empty() ? "1" : term);
  }
  return text.empty() ? "0" : text;
}

Estimate expectation(const SoftmaxExpression& reduced, double s, const PowerSumMoment& power_sum_moment) {
  constexpr auto kFunction = "expectation";
  check_nonnegative(kFunction, "s", s);
  Estimate result;
  double rounding = 0;
  for (const auto& [factors, coefficient] : reduced.terms()) {
    std::vector<int> parts;
    for (const auto& [k, m] : factors) {
      if (m > 0) fail(kFunction, "expression", to_string(factors), "reduced by parts: power sums alone");
      parts.push_back(k);
    }
    const Estimate moment = parts.empty() ? Estimate{1, 0} : power_sum_moment(parts);
    check_finite(kFunction, fmt::format("moment {}", to_string(factors)), moment.value);
    check_nonnegative(kFunction, fmt::format("error of the moment {}", to_string(factors)), moment.error);
    double c = 0;
    double magnitude = 0;  // Σ |c_j| s^j, which scales the rounding errors
    for (std::size_t j = coefficient.size(); j-- > 0;) {
      const auto power_coefficient = static_cast<double>(coefficient[j]);
      c = c * s + power_coefficient;
      magnitude = magnitude * s + std::abs(power_coefficient);
    }
    result.value += c * moment.value;
    result.error += std::abs(c) * moment.error;
    // Horner: two roundings per power; one each for the conversion, the product, and the sums that follow.
    const auto roundings = static_cast<double>(2 * coefficient.size() + 2 + reduced.terms().size());
    rounding += roundings * magnitude * std::abs(moment.value);
  }
  result.error += 0x1p-53 * rounding;
  check_finite(kFunction, "result", result.value);
  check_finite(kFunction, "error of the result", result.error);
  return result;
}

}  // namespace largo
