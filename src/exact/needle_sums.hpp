// Sums of softmax weights over a needle and a crowd, with the algebra of their derivatives.
//
// One token, the needle, has a score β + s_0 g and weight q; the other tokens are a crowd with scores s g,
// weights p_i, and C_k = Σ_{i in the crowd} p_i^k, so that q + C_1 = 1. All g are independent and standard
// normal. An expression is a polynomial in q and the C_k. Its expectation is a function of β, s_0 and s,
// whose derivatives are expectations of expressions again:
//
//   d/dβ E F  = E ∂_0 F                                    with ∂_0 q = q C_1, ∂_0 C_k = -k q C_k,
//   d/dσ E F  = ½ E {γ² ∂_0² F + Σ_{i in the crowd} ∂_i² F}  for s_0² = γ²σ, s² = σ,
//
// as the normal law solves the heat equation. So no derivative needs differences.
#pragma once

#include <compare>
#include <map>
#include <span>
#include <vector>

#include "largo/exact/token_classes.hpp"

namespace largo::exact {

/// q^needle ∏_k C_k. Sums of the crowd come in increasing order.
struct NeedleProduct {
  int needle = 0;
  std::vector<int> crowd = {};
  friend auto operator<=>(const NeedleProduct&, const NeedleProduct&) = default;
};

/// The sum of all powers of weights in the product, which is at least that of a term it stands in.
int order_of(const NeedleProduct& product);

class NeedleExpression {
 public:
  using Terms = std::map<NeedleProduct, double>;

  NeedleExpression() = default;
  NeedleExpression(int needle, std::vector<int> crowd, double coefficient = 1) {
    add({needle, std::move(crowd)}, coefficient);
  }
  void add(NeedleProduct product, double coefficient);  ///< sums of the crowd in any order
  const Terms& terms() const { return terms_; }

 private:
  Terms terms_;
};

NeedleExpression operator+(NeedleExpression left, const NeedleExpression& right);
NeedleExpression operator*(double factor, const NeedleExpression& expression);

NeedleExpression shift_derivative(const NeedleExpression& expression);
/// The derivative in σ, for a needle of variance γ²σ.
NeedleExpression variance_derivative(const NeedleExpression& expression, double needle_variance);

/// The expectations of products. Domain: as class_moments(); a needle of count one. Relative error: 1e-12,
/// each with its estimate. Cost: as class_moments(), more for products of an order above four.
std::vector<Estimate> needle_moments(std::span<const NeedleProduct> products, const TokenClass& needle,
                                     const TokenClass& crowd);

}  // namespace largo::exact
