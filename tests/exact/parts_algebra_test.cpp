// Integration by parts against identities derived by hand, and against quadrature over all the scores, which
// does not use the rule. Few tokens are enough: no identity depends on their number.
#include "largo/exact/parts_algebra.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <random>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "largo/runtime/check.hpp"

namespace largo::parts_algebra_test {
namespace {

// Products with coefficients up to 1e4 lose that factor to cancellation in double; the quadrature has 1e-17.
constexpr double kQuadratureTolerance = 1e-10;
// The truncation of the difference formula, h^6 times a seventh derivative.
constexpr double kDifferenceTolerance = 1e-8;
// Sums of some tens of exact terms, relative to the largest term.
constexpr double kRounding = 1e-14;

const SoftmaxExpression A = weighted_mean();
const SoftmaxExpression B = weighted_variance();
const SoftmaxExpression D = squared_spread();
const SoftmaxExpression s1 = spread_power(1);

SoftmaxExpression power_sum_terms(const std::vector<std::pair<std::vector<int>, SpreadPolynomial>>& terms) {
  SoftmaxExpression expression;
  for (const auto& [parts, coefficient] : terms) {
    SoftmaxProduct factors;
    for (const int k : parts) factors.push_back({k, 0});
    expression.add(factors, coefficient);
  }
  return expression;
}

// E[∏ S(k,m)] over L tokens by the trapezoidal rule in every g_i. The integrand has its poles at Im g = π/s,
// so the error is e^{-2π²/(s h)}, times 1e5 or so for their order; s h = 0.3 leaves 1e-23. Tails beyond
// e^{-45} are cut, 1e-17 of the whole.
class Quadrature {
 public:
  Quadrature(int L, long double s) : nodes_{{}} {
    const long double step = std::min(0.5L, 0.3L / s);
    const int reach = static_cast<int>(10 / step);
    for (int i = 0; i < L; ++i) {
      std::vector<Node> longer;
      for (const Node& node : nodes_) {
        for (int j = -reach; j <= reach; ++j) {
          const long double g = step * j;
          const long double log_weight = node.log_weight - g * g / 2;
          if (log_weight < -50) continue;
          longer.push_back(node);
          longer.back().log_weight = log_weight;
          longer.back().g.push_back(g);
        }
      }
      nodes_ = std::move(longer);
    }
    for (Node& node : nodes_) {
      long double partition = 0;
      for (const long double g : node.g) partition += std::exp(s * g);
      for (const long double g : node.g) node.p.push_back(std::exp(s * g) / partition);
      node.weight = std::exp(node.log_weight);
      mass_ += node.weight;
    }
  }

  long double operator()(const SoftmaxProduct& factors) {
    const auto [known, is_new] = known_.try_emplace(factors, 0);
    if (!is_new) return known->second;
    long double total = 0;
    for (const Node& node : nodes_) {
      long double value = node.weight;
      for (const auto& [k, m] : factors) {
        long double sum = 0;
        for (std::size_t i = 0; i < node.p.size(); ++i) {
          long double summand = 1;
          for (int j = 0; j < k; ++j) summand *= node.p[i];
          for (int j = 0; j < m; ++j) summand *= node.g[i];
          sum += summand;
        }
        value *= sum;
      }
      total += value;
    }
    return known->second = total / mass_;
  }

  // The same for a power-sum moment, with the rounding to double as its error.
  Estimate moment(const std::vector<int>& parts) {
    SoftmaxProduct factors;
    for (const int k : parts) factors.push_back({k, 0});
    const auto value = static_cast<double>((*this)(factors));
    return {value, 0x1p-52 * value};
  }

 private:
  struct Node {
    std::vector<long double> g, p;
    long double log_weight = 0, weight = 0;
  };
  std::vector<Node> nodes_;
  long double mass_ = 0;
  std::map<SoftmaxProduct, long double> known_;
};

Estimate reduced_expectation(const SoftmaxExpression& expression, double s, Quadrature& quadrature) {
  return expectation(reduce_by_parts(expression), s,
                     [&](const std::vector<int>& parts) { return quadrature.moment(parts); });
}

SoftmaxExpression as_expression(const SoftmaxProduct& factors) {
  SoftmaxExpression expression;
  expression.add(factors, {1});
  return expression;
}

// Products of up to four factors, Σ k <= 6 and Σ m <= 4, not all m = 0.
std::vector<SoftmaxProduct> random_products(std::size_t count, unsigned seed) {
  std::mt19937 random(seed);
  const auto up_to = [&](int largest) {
    return static_cast<int>(random() % static_cast<unsigned>(largest + 1));
  };
  std::vector<SoftmaxProduct> products;
  while (products.size() < count) {
    SoftmaxProduct product;
    int k_left = 6;
    int m_left = 4;
    for (int factors = 1 + up_to(3); factors > 0 && k_left > 0; --factors) {
      const SoftmaxSum factor{1 + up_to(std::min(2, k_left - 1)), up_to(m_left)};
      k_left -= factor.k;
      m_left -= factor.m;
      product.push_back(factor);
    }
    if (m_left < 4) products.push_back(product);
  }
  return products;
}

double double_factorial(int n) { return n <= 1 ? 1 : n * double_factorial(n - 2); }

double normal_moment(int n) { return n % 2 == 1 ? 0 : double_factorial(n - 1); }

struct Identity {
  std::string name;
  SoftmaxExpression expression, reduced;
};

const std::vector<Identity>& identities() {
  static const std::vector<Identity> kIdentities = {
      {"E[A]", A, power_sum_terms({{{}, {0, 1}}, {{2}, {0, -1}}})},
      {"E[(A-s)^2]", (A - s1) * (A - s1),
       power_sum_terms({{{2}, {1, 0, 1}}, {{3}, {0, 0, -6}}, {{2, 2}, {0, 0, 6}}})},
      {"E[B]", B, power_sum_terms({{{}, {1}}, {{2}, {-1, 0, -2}}, {{3}, {0, 0, 8}}, {{2, 2}, {0, 0, -6}}})},
      {"E[D]", D,
       power_sum_terms({{{2}, {1, 0, 1}},
                        {{2, 2}, {1, 0, 7}},
                        {{2, 2, 2}, {0, 0, 20}},
                        {{2, 3}, {0, 0, -52}},
                        {{3}, {-2, 0, -14}},
                        {{4}, {0, 0, 38}}})},
      {"E[(B-1)P2]", (B - 1) * power_sum(2),
       power_sum_terms({{{2, 2}, {-1, 0, -4}},
                        {{2, 2, 2}, {0, 0, -20}},
                        {{2, 3}, {0, 0, 40}},
                        {{3}, {0, 0, 4}},
                        {{4}, {0, 0, -20}}})},
      {"E[(B-1)^2]", (B - 1) * (B - 1),
       power_sum_terms({{{2}, {2, 0, 4, 0, 1}},
                        {{2, 2}, {3, 0, 36, 0, 27}},
                        {{2, 2, 2}, {0, 0, 120, 0, 240}},
                        {{2, 2, 2, 2}, {0, 0, 0, 0, 840}},
                        {{2, 2, 3}, {0, 0, 0, 0, -2880}},
                        {{2, 3}, {0, 0, -288, 0, -680}},
                        {{2, 4}, {0, 0, 0, 0, 2480}},
                        {{3}, {-4, 0, -64, 0, -62}},
                        {{3, 3}, {0, 0, 0, 0, 1020}},
                        {{4}, {0, 0, 192, 0, 594}},
                        {{5}, {0, 0, 0, 0, -1580}}})},
      {"dE[P2]/ds", derivative_in_s(power_sum(2)),
       power_sum_terms({{{2}, {0, 2}}, {{3}, {0, -8}}, {{2, 2}, {0, 6}}})},
      {"dE[P3]/ds", derivative_in_s(power_sum(3)),
       power_sum_terms({{{3}, {0, 6}}, {{4}, {0, -18}}, {{2, 3}, {0, 12}}})},
      {"dE[P2^2]/ds", derivative_in_s(power_sum(2) * power_sum(2)),
       power_sum_terms({{{2, 2}, {0, 4}}, {{2, 2, 2}, {0, 20}}, {{2, 3}, {0, -32}}, {{4}, {0, 8}}})},
  };
  return kIdentities;
}

TEST(PartsAlgebra, GeneratesTheIdentitiesDerivedByHand) {
  for (const Identity& identity : identities()) {
    EXPECT_EQ(reduce_by_parts(identity.expression), identity.reduced)
        << identity.name << " = " << to_string(reduce_by_parts(identity.expression));
  }
}

TEST(PartsAlgebra, RandomProductsAgreeWithQuadrature) {
  struct Case {
    int L;
    double s;
  };
  // With two tokens there are relations between power sums, such as P3 = (3 P2 - 1)/2, that fail for three.
  for (const auto& [L, s] : {Case{2, 0.3}, {2, 1}, {2, 2}, {3, 0.3}, {3, 1}}) {
    Quadrature quadrature(L, s);
    ASSERT_NEAR(static_cast<double>(quadrature({{1, 2}, {1, 0}})), static_cast<double>(quadrature({{1, 2}})),
                kRounding);
    for (const SoftmaxProduct& product : random_products(L == 2 ? 150 : 40, 7)) {
      const auto expected = static_cast<double>(quadrature(product));
      const Estimate value = reduced_expectation(as_expression(product), s, quadrature);
      const std::string name = to_string(as_expression(product));
      EXPECT_NEAR(value.value, expected, kQuadratureTolerance * std::abs(expected)) << name << " s " << s;
      EXPECT_NEAR(value.value, expected, value.error + kRounding * std::abs(expected)) << name << " s " << s;
    }
  }
}

TEST(PartsAlgebra, DerivativeAgreesWithDifferences) {
  constexpr double kStep = 0.005;
  // A central difference of sixth order.
  const std::map<int, long double> stencil = {{-3, -1.0L / 60}, {-2, 3.0L / 20}, {-1, -3.0L / 4},
                                              {1, 3.0L / 4},    {2, -3.0L / 20}, {3, 1.0L / 60}};
  for (const double s : {0.3, 1.0, 2.0}) {
    Quadrature here(2, s);
    std::map<int, Quadrature> near;
    for (const auto& entry : stencil) {
      near.emplace(entry.first, Quadrature(2, s + static_cast<long double>(kStep) * entry.first));
    }
    for (const SoftmaxProduct& product : random_products(40, 11)) {
      // The coefficient depends on s as well: 3 - s + 2 s^2.
      SoftmaxExpression expression;
      expression.add(product, {3, -1, 2});
      long double expected = 0;
      for (const auto& [j, weight] : stencil) {
        const long double t = s + static_cast<long double>(kStep) * j;
        expected += weight * (3 - t + 2 * t * t) * near.at(j)(product) / kStep;
      }
      const auto slope = static_cast<double>(expected);
      const double value = reduced_expectation(derivative_in_s(expression), s, here).value;
      const double scale = std::abs(slope) + std::abs(static_cast<double>(here(product)));
      EXPECT_NEAR(value, slope, kDifferenceTolerance * scale) << to_string(expression) << " s " << s;
    }
  }
}

// Differentiating before the reduction and after it gives the same.
TEST(PartsAlgebra, DerivativeCommutesWithReduction) {
  for (const SoftmaxProduct& product : random_products(50, 13)) {
    const SoftmaxExpression expression = as_expression(product);
    EXPECT_EQ(reduce_by_parts(derivative_in_s(expression)),
              reduce_by_parts(derivative_in_s(reduce_by_parts(expression))))
        << to_string(expression);
  }
}

// With weights 1/L the factors are Σ g_i^m over L tokens; the reference assigns them to tokens in all ways.
TEST(PartsAlgebra, EqualWeightsGiveMomentsOfNormals) {
  for (const int L : {2, 3, 5}) {
    for (const SoftmaxProduct& product : random_products(50, 17)) {
      int K = 0;
      std::map<std::vector<int>, double> powers = {{std::vector<int>(static_cast<std::size_t>(L)), 1}};
      for (const auto& [k, m] : product) {
        K += k;
        std::map<std::vector<int>, double> longer;
        for (const auto& [exponents, count] : powers) {
          for (std::size_t i = 0; i < exponents.size(); ++i) {
            std::vector<int> raised = exponents;
            raised[i] += m;
            longer[raised] += count;
          }
        }
        powers = longer;
      }
      double expected = 0;
      for (const auto& [exponents, count] : powers) {
        double moment = count;
        for (const int exponent : exponents) moment *= normal_moment(exponent);
        expected += moment;
      }
      expected *= std::pow(L, -K);
      const Estimate value =
          expectation(reduce_by_parts(as_expression(product)), 0, [&](const std::vector<int>& parts) {
            double moment = 1;
            for (const int k : parts) moment *= std::pow(L, 1 - k);
            return Estimate{moment, 0};
          });
      EXPECT_NEAR(value.value, expected, kRounding) << to_string(as_expression(product)) << " L " << L;
    }
  }
}

// One token: p = 1, S(k,m) = g^m, whatever s is. The coefficients add up to a moment of one normal, exactly.
TEST(PartsAlgebra, OneTokenGivesMomentsOfOneNormal) {
  for (const SoftmaxProduct& product : random_products(200, 19)) {
    int m = 0;
    for (const SoftmaxSum& factor : product) m += factor.m;
    SpreadPolynomial total;
    const SoftmaxExpression reduced = reduce_by_parts(as_expression(product));
    for (const auto& [factors, coefficient] : reduced.terms()) {
      total.resize(std::max(total.size(), coefficient.size()));
      for (std::size_t j = 0; j < coefficient.size(); ++j) total[j] += coefficient[j];
    }
    SpreadPolynomial expected(total.size());
    if (!expected.empty()) expected[0] = static_cast<std::int64_t>(normal_moment(m));
    EXPECT_EQ(total, expected) << to_string(as_expression(product));
  }
}

TEST(PartsAlgebra, Arithmetic) {
  EXPECT_EQ((A + B) * (A - B), A * A - B * B);
  EXPECT_EQ(A * softmax_sum(2, 1), softmax_sum(2, 1) * A);
  EXPECT_EQ(2 * A - A, A);
  EXPECT_EQ(A - A, SoftmaxExpression());
  EXPECT_EQ(-A + A, 0);
  EXPECT_EQ(s1 * s1, spread_power(2));
  EXPECT_EQ(spread_power(0), 1);
  EXPECT_EQ(power_sum(1), 1);
  EXPECT_EQ(softmax_sum(1, 0) * A, A);
  EXPECT_EQ(SoftmaxExpression(0), SoftmaxExpression());
  SoftmaxExpression trailing_zeros;
  trailing_zeros.add({{2, 0}, {1, 0}}, {1, 0, 0});
  EXPECT_EQ(trailing_zeros, power_sum(2));
  trailing_zeros.add({{2, 0}}, {0, 0});
  EXPECT_EQ(trailing_zeros, power_sum(2));
}

TEST(PartsAlgebra, Constants) {
  const auto never = [](const std::vector<int>&) -> Estimate {
    ADD_FAILURE() << "the empty product is 1";
    return {};
  };
  EXPECT_EQ(reduce_by_parts(0), 0);
  EXPECT_EQ(reduce_by_parts(7), 7);
  EXPECT_EQ(reduce_by_parts(3 * s1 * power_sum(1)), 3 * s1);
  EXPECT_EQ(derivative_in_s(5), 0);
  EXPECT_EQ(derivative_in_s(spread_power(3)), 3 * spread_power(2));
  EXPECT_EQ(expectation(0, 2, never).value, 0);
  EXPECT_EQ(expectation(0, 2, never).error, 0);
  EXPECT_EQ(expectation(3 - s1, 2, never).value, 1);
}

TEST(PartsAlgebra, Text) {
  EXPECT_EQ(to_string(0), "0");
  EXPECT_EQ(to_string(1), "1");
  EXPECT_EQ(to_string(-1), "- 1");
  EXPECT_EQ(to_string(std::numeric_limits<std::int64_t>::min()), "- 9223372036854775808");
  EXPECT_EQ(to_string(1 + s1), "(1 + s)");
  EXPECT_EQ(to_string(A * A * power_sum(2)), "E[S(1,1)^2 P2]");
  EXPECT_EQ(to_string(-power_sum(2) + power_sum(3)), "- E[P2] + E[P3]");
  EXPECT_EQ(to_string((s1 - 1) * power_sum(2)), "- (1 - s) E[P2]");
  EXPECT_EQ(to_string(reduce_by_parts(A)), "s - s E[P2]");
  EXPECT_EQ(to_string(reduce_by_parts(B)), "1 - (1 + 2 s^2) E[P2] - 6 s^2 E[P2^2] + 8 s^2 E[P3]");
  EXPECT_EQ(to_string(reduce_by_parts((B - 1) * power_sum(2))),
            "- (1 + 4 s^2) E[P2^2] - 20 s^2 E[P2^3] + 40 s^2 E[P2 P3] + 4 s^2 E[P3] - 20 s^2 E[P4]");
}

TEST(PartsAlgebra, ExpectationAddsTheErrors) {
  std::vector<std::vector<int>> asked;
  const SoftmaxExpression expression = 2 - 3 * s1 * power_sum(2) + power_sum(3) * power_sum(2);
  const Estimate value = expectation(expression, 2, [&](const std::vector<int>& parts) {
    asked.push_back(parts);
    return parts.size() == 1 ? Estimate{0.5, 1e-3} : Estimate{0.25, 1e-4};
  });
  EXPECT_EQ(asked, (std::vector<std::vector<int>>{{2}, {2, 3}}));
  EXPECT_EQ(value.value, 2 - 6 * 0.5 + 0.25);
  EXPECT_NEAR(value.error, 6e-3 + 1e-4, kRounding);
}

// Expanded in powers, (1 - s)^12 loses eleven digits near one: the moment is exact, but the sum is rounded.
TEST(PartsAlgebra, ExpectationBoundsItsRounding) {
  SoftmaxExpression expression = power_sum(2);
  for (int n = 0; n < 12; ++n) expression = expression * (1 - s1);
  for (const double s : {0.3, 0.9, 1.1}) {
    const Estimate value = expectation(expression, s, [](const std::vector<int>&) {
      return Estimate{0.7, 0};
    });
    const auto exact = static_cast<double>(std::pow(1 - static_cast<long double>(s), 12) * 0.7);
    const double size = std::pow(1 + s, 12);
    EXPECT_LE(std::abs(value.value - exact), value.error) << s;
    EXPECT_LE(value.error, 30 * 0x1p-53 * size) << s;  // two roundings for each of 13 powers, and a few more
  }
}

TEST(PartsAlgebra, BadInput) {
  EXPECT_THROW(softmax_sum(0, 1), InputError);
  EXPECT_THROW(softmax_sum(-1, 0), InputError);
  EXPECT_THROW(softmax_sum(1, -1), InputError);
  EXPECT_THROW(softmax_sum(kLargestSumIndex + 1, 0), InputError);
  EXPECT_THROW(power_sum(0), InputError);
  EXPECT_THROW(spread_power(-1), InputError);
  EXPECT_THROW(spread_power(kLargestSpreadPower + 1), InputError);
  EXPECT_THROW(spread_power(kLargestSpreadPower) * s1, InputError);
  EXPECT_THROW(reduce_by_parts(softmax_sum(kLargestSumIndex, 1)), InputError);
  EXPECT_THROW(derivative_in_s(softmax_sum(1, kLargestSumIndex)), InputError);
  try {
    softmax_sum(0, 1);
  } catch (const InputError& error) {
    EXPECT_STREQ(error.what(), "SoftmaxExpression: k of S(k,m) is 0, must be from 1 to 1000000");
  }
  static_assert(!std::is_constructible_v<SoftmaxExpression, double>);

  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double infinity = std::numeric_limits<double>::infinity();
  const auto moment = [](Estimate value) { return [value](const std::vector<int>&) { return value; }; };
  EXPECT_THROW(expectation(A, 1, moment({1, 0})), InputError);
  EXPECT_THROW(expectation(power_sum(2), -1, moment({1, 0})), InputError);
  EXPECT_THROW(expectation(power_sum(2), nan, moment({1, 0})), InputError);
  EXPECT_THROW(expectation(power_sum(2), infinity, moment({1, 0})), InputError);
  EXPECT_THROW(expectation(power_sum(2), 1, moment({nan, 0})), InputError);
  EXPECT_THROW(expectation(power_sum(2), 1, moment({1, nan})), InputError);
  EXPECT_THROW(expectation(power_sum(2), 1, moment({1, -1})), InputError);
  EXPECT_THROW(expectation(spread_power(200) * power_sum(2), 1e6, moment({1, 0})), InputError);
}

TEST(PartsAlgebra, OverflowIsAnErrorNotAWrongNumber) {
  constexpr std::int64_t kLargest = std::numeric_limits<std::int64_t>::max();
  const SoftmaxExpression large = kLargest * power_sum(2);
  EXPECT_THROW(large + power_sum(2), InputError);
  EXPECT_THROW(2 * large, InputError);
  EXPECT_THROW(-SoftmaxExpression(std::numeric_limits<std::int64_t>::min()), InputError);
  EXPECT_THROW(derivative_in_s(large), InputError);
  EXPECT_THROW(derivative_in_s(kLargest * spread_power(2)), InputError);
  EXPECT_EQ(large + power_sum(3) - power_sum(3), large);

  // A failed addition leaves the expression as it was.
  SoftmaxExpression kept = large;
  EXPECT_THROW(kept.add({{2, 0}}, {1}), InputError);
  EXPECT_EQ(kept, large);

  // S(1,m) makes (m-1)!! on its way: 33!! fits into 64 bits, 35!! does not. Odd m add powers of s.
  EXPECT_THROW(reduce_by_parts(softmax_sum(1, 36)), InputError);
  EXPECT_THROW(reduce_by_parts(softmax_sum(1, 999'999)), InputError);
  SoftmaxExpression power = 1;
  for (int n = 0; n < 14; ++n) power = power * A;
  EXPECT_THROW(reduce_by_parts(power), InputError);
}

}  // namespace
}  // namespace largo::parts_algebra_test
