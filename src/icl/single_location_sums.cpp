// With q the weight of the needle, C_k = Σ p_i^k over the crowd, h = m <v, k*>, c = <u, v>, w = <u, v*> and
// g = <v, v*>, Gaussian integration by parts over the tokens gives
//
//   2 R_L = τ² + γ² [(1 - g)² + 2 g (1 - g) E C_1 + g² E C_1² + (|v|² - g²) E q²] + |v|² E C_2
//           + h² E q² + 2 h c E G_1 + c² E G_2 - 2 h w E H_1 - 2 c w E H_2,
//   G_1 = 2 γ² q² C_1 + q C_1 - 2 q C_2,    H_1 = γ² q C_1,
//   H_2 = γ² {γ² q C_1 (1 - 2 q) - q C_1 + 2 q C_2},
//   G_2 = γ⁴ q² C_1 (6 C_1 - 2) + γ² {2 q C_1 - 4 q C_2 - 4 q² C_1 + 12 q² C_2}
//         + C_1² + 3 C_2 - 4 C_1 C_2 - 6 C_3 + 6 C_2².
//
// The expectations depend on u through the needle's shift m <u, k*> and |u|² alone, and needle_sums.hpp has
// their derivatives.
#include "icl/single_location_sums.hpp"

#include <cmath>
#include <utility>

namespace largo::icl {
namespace {

using exact::NeedleExpression;
using exact::NeedleProduct;

NeedleExpression expression_of(Sum sum, double v) {
  const auto term = [](double c, int needle, std::vector<int> crowd) {
    return NeedleExpression(needle, std::move(crowd), c);
  };
  switch (sum) {
    case Sum::crowd: return term(1, 0, {1});
    case Sum::crowd_squared: return term(1, 0, {1, 1});
    case Sum::crowd_squares: return term(1, 0, {2});
    case Sum::needle_squared: return term(1, 2, {});
    case Sum::G1: return term(2 * v, 2, {1}) + term(1, 1, {1}) + term(-2, 1, {2});
    case Sum::G2:
      return term(6 * v * v, 2, {1, 1}) + term(-2 * v * v, 2, {1}) + term(2 * v, 1, {1}) +
             term(-4 * v, 1, {2}) + term(-4 * v, 2, {1}) + term(12 * v, 2, {2}) + term(1, 0, {1, 1}) +
             term(3, 0, {2}) + term(-4, 0, {1, 2}) + term(-6, 0, {3}) + term(6, 0, {2, 2});
    case Sum::H1: return term(v, 1, {1});
    default: return term(v * v, 1, {1}) + term(-2 * v * v, 2, {1}) + term(-v, 1, {1}) + term(2 * v, 1, {2});
  }
}

}  // namespace

SumTable::SumTable(double L, double needle_spread, std::size_t count) : L_(L), needle_spread_(needle_spread) {
  // Where the needle has all the weight, the other products are too small to show where to look for them.
  rows_of(NeedleExpression(1, {}));
  const double variance = needle_spread * needle_spread;
  for (std::size_t i = 0; i < count; ++i) {
    const NeedleExpression value = expression_of(static_cast<Sum>(i), variance);
    all_.push_back({rows_of(value), rows_of(exact::shift_derivative(value)),
                    rows_of(exact::variance_derivative(value, variance))});
  }
}

SumTable::Rows SumTable::rows_of(const NeedleExpression& expression) {
  Rows rows;
  for (const auto& [product, coefficient] : expression.terms()) {
    if (coefficient == 0) continue;
    const auto [place, is_new] = index_.try_emplace(product, products_.size());
    if (is_new) products_.push_back(product);
    rows.push_back({place->second, coefficient});
  }
  return rows;
}

SumPoint SumTable::at(double shift, double square) const {
  SumPoint point{.needle = {}, .sums = std::vector<SumValues>(all_.size())};
  // Without a crowd of finite size, the needle has no weight, and the crowd's tokens are all alike.
  if (std::isinf(L_)) {
    for (const Sum sum : {Sum::crowd, Sum::crowd_squared, Sum::G2}) {
      if (static_cast<std::size_t>(sum) < all_.size())
        point.sums[static_cast<std::size_t>(sum)].value.value = 1;
    }
    return point;
  }
  const double s = std::sqrt(square);
  const std::vector<Estimate> moments =
      exact::needle_moments(products_, {1, shift, needle_spread_ * s}, {L_ - 1, 0, s});
  const auto sum = [&](const Rows& rows) {
    Estimate total;
    for (const auto& [product, coefficient] : rows) {
      total.value += coefficient * moments[product].value;
      total.error += std::abs(coefficient) * moments[product].error;
    }
    return total;
  };
  for (std::size_t i = 0; i < all_.size(); ++i)
    point.sums[i] = {sum(all_[i].value), sum(all_[i].by_shift).value, sum(all_[i].by_square).value};
  point.needle = moments[0];
  return point;
}

}  // namespace largo::icl
