#include "exact/needle_sums.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <numeric>
#include <utility>

#include "exact/class_node.hpp"
#include "exact/line_rule.hpp"

namespace largo::exact {
namespace {

// A factor of a product: q for 0, C_k for k.
using Factors = std::vector<int>;

Factors factors_of(const NeedleProduct& product) {
  Factors factors(static_cast<std::size_t>(product.needle), 0);
  factors.insert(factors.end(), product.crowd.begin(), product.crowd.end());
  return factors;
}

// Adds coefficient · q^needle ∏ crowd · ∏ rest.
void add_times(NeedleExpression& to, const Factors& rest, double coefficient, int needle,
               std::vector<int> crowd) {
  for (const int factor : rest) {
    if (factor == 0) {
      ++needle;
    } else {
      crowd.push_back(factor);
    }
  }
  to.add({needle, std::move(crowd)}, coefficient);
}

// Σ_i ∂_i² f over the crowd.
void add_second(NeedleExpression& to, const Factors& rest, double c, int f) {
  const auto add = [&](double factor, int needle, std::vector<int> crowd) {
    add_times(to, rest, c * factor, needle, std::move(crowd));
  };
  if (f <= 1) {  // q and C_1 = 1 - q
    const double sign = f == 0 ? 1 : -1;
    add(-sign, 1, {1});
    add(2 * sign, 1, {2});
    return;
  }
  add(f * f, 0, {f});
  add(-2 * f * f, 0, {f + 1});
  add(-f, 0, {1, f});
  add(f * (f + 1), 0, {2, f});
}

// 2 Σ_i ∂_i f ∂_i g over the crowd, f <= g: ∂_i q = -q p_i, ∂_i C_1 = q p_i, ∂_i C_k = k (p_i^k - p_i C_k).
void add_pair(NeedleExpression& to, const Factors& rest, double c, int f, int g) {
  const auto add = [&](double factor, int needle, std::vector<int> crowd) {
    add_times(to, rest, 2 * c * factor, needle, std::move(crowd));
  };
  const double sign = f == 0 ? -1 : 1;
  if (g <= 1) {
    add(f == g ? 1 : -1, 2, {2});
  } else if (f <= 1) {
    add(sign * g, 1, {g + 1});
    add(-sign * g, 1, {2, g});
  } else {
    const double both = f * g;
    add(both, 0, {f + g});
    add(-both, 0, {f + 1, g});
    add(-both, 0, {f, g + 1});
    add(both, 0, {2, f, g});
  }
}

// ∏ C_k over a crowd of n: all ways in which factors may fall on the same token. A way is the list of the
// powers of its tokens, and its number of cases times (1 - 1/n)(1 - 2/n)….
using Ways = std::map<std::vector<int>, double>;

Ways ways_of(const std::vector<int>& crowd, double n) {
  Ways ways;
  std::vector<int> blocks;
  const std::function<void(std::size_t)> place = [&](std::size_t at) {
    if (at == crowd.size()) {
      double cases = 1;
      for (std::size_t j = 1; j < blocks.size(); ++j) cases *= 1 - static_cast<double>(j) / n;
      std::vector<int> sorted = blocks;
      std::sort(sorted.begin(), sorted.end());
      if (cases > 0) ways[std::move(sorted)] += cases;
      return;
    }
    for (std::size_t b = 0; b < blocks.size(); ++b) {
      blocks[b] += crowd[at];
      place(at + 1);
      blocks[b] -= crowd[at];
    }
    blocks.push_back(crowd[at]);
    place(at + 1);
    blocks.pop_back();
  };
  place(0);
  return ways;
}

// With y = ln t, E[q^a ∏ C_k] = 1/Γ(K) ∫ Φ R_0(a) Σ_ways ∏ R_1(k) dy, where K is the sum of all powers.
class NeedleIntegrand {
 public:
  NeedleIntegrand(std::span<const NeedleProduct> products, std::span<const TokenClass> classes, int powers)
      : node_(classes, powers) {
    for (const NeedleProduct& one : products) {
      Product product{one.needle, std::tgamma(order_of(one)), {}};
      for (const auto& [crowd, cases] : ways_of(one.crowd, classes[1].count))
        product.ways.push_back({crowd, cases});
      products_.push_back(std::move(product));
    }
  }

  void at(double v, double depth, LineValues& to) {
    const bool alive = node_.at(v, depth, to);
    for (std::size_t i = 0; i < products_.size(); ++i) to.value[i] = alive ? value(products_[i]) : 0;
    to.magnitude = to.value;
  }

 private:
  struct Product {
    int needle;
    double gamma;
    std::vector<std::pair<std::vector<int>, double>> ways;
  };

  double value(const Product& product) const {
    const ClassIntegrals &needle = node_.classes[0], &crowd = node_.classes[1];
    double sum = 0;
    for (const auto& [powers, cases] : product.ways) {
      double term = cases;
      for (const int k : powers) term *= crowd.R(k);
      sum += term;
    }
    return node_.weight * sum * (product.needle > 0 ? needle.R(product.needle) : 1) / product.gamma;
  }

  ClassNode node_;
  std::vector<Product> products_;
};

}  // namespace

int order_of(const NeedleProduct& product) {
  return std::accumulate(product.crowd.begin(), product.crowd.end(), product.needle);
}

void NeedleExpression::add(NeedleProduct product, double coefficient) {
  std::sort(product.crowd.begin(), product.crowd.end());
  terms_[std::move(product)] += coefficient;
}

NeedleExpression operator+(NeedleExpression left, const NeedleExpression& right) {
  for (const auto& [product, coefficient] : right.terms()) left.add(product, coefficient);
  return left;
}

NeedleExpression operator*(double factor, const NeedleExpression& expression) {
  NeedleExpression result;
  for (const auto& [product, coefficient] : expression.terms()) result.add(product, factor * coefficient);
  return result;
}

NeedleExpression shift_derivative(const NeedleExpression& expression) {
  NeedleExpression result;
  for (const auto& [product, c] : expression.terms()) {
    NeedleProduct more = product;
    more.crowd.push_back(1);
    if (product.needle > 0) result.add(more, product.needle * c);
    const int k = std::accumulate(product.crowd.begin(), product.crowd.end(), 0);
    if (k > 0) result.add({product.needle + 1, product.crowd}, -k * c);
  }
  return result;
}

NeedleExpression variance_derivative(const NeedleExpression& expression, double needle_variance) {
  NeedleExpression result = 0.5 * needle_variance * shift_derivative(shift_derivative(expression));
  for (const auto& [product, coefficient] : expression.terms()) {
    const Factors factors = factors_of(product);
    for (std::size_t a = 0; a < factors.size(); ++a) {
      Factors rest = factors;
      rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(a));
      add_second(result, rest, 0.5 * coefficient, factors[a]);
      for (std::size_t b = a + 1; b < factors.size(); ++b) {
        Factors others = rest;
        others.erase(others.begin() + static_cast<std::ptrdiff_t>(b - 1));
        add_pair(result, others, 0.5 * coefficient, factors[a], factors[b]);
      }
    }
  }
  return result;
}

std::vector<Estimate> needle_moments(std::span<const NeedleProduct> products, const TokenClass& needle,
                                     const TokenClass& crowd) {
  std::vector<TokenClass> classes = {needle, crowd};
  check_classes("needle_moments", classes);
  const double shift = ClassVariable(classes).middle();
  for (TokenClass& one : classes) one.shift += shift;
  int powers = 1;
  for (const NeedleProduct& one : products) powers = std::max(powers, order_of(one));
  return LineRule(NeedleIntegrand(products, classes, powers), products.size(), kClassStep)
      .integrals(kClassHalvings);
}

}  // namespace largo::exact
