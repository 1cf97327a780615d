// Two sets of formulas, for the two ways to centre (score_integrals.hpp). With Y = Σ p_i G_i, X = Σ p_i H_i:
//   tilted   A = s + Y, B = 1 + X - Y²
//   local    A = c + Y, B = X - Y², with factors P_1 = 1 that bring every product to the same K: then the
//            integrand of a quantity that depends on differences of scores alone, like B, does so too.
// The s-derivatives come from d p_i^k/ds = k p_i^k (g_i - A), and for small s, where these are differences of
// nearly odd functions, from the identities by parts.
#include "largo/exact/softmax_moments.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>

#include "exact/master_formula.hpp"
#include "largo/exact/parts_algebra.hpp"
#include "runtime/distribute.hpp"
#include "runtime/parallel.hpp"

namespace largo {
namespace {

// Lengths further apart than this have an integral each: a shared one would be wide, and keep the rounding
// errors of the longest.
constexpr double kWidestGroup = 1e4;

constexpr exact::Block P1{1, 0, 0}, P2{2, 0, 0}, P3{3, 0, 0};
constexpr exact::Block Y{1, 1, 0}, X{1, 0, 1};

enum : std::size_t {
  kCheck,
  kP2,
  kP3,
  kP2P2,
  kMean,
  kBias,
  kMse,
  kB,
  kBB,
  kBP2,
  kD,
  kSlopeP2,
  kSlopeP3,
  kSlopeP2P2,
  kSquare,
  kQuantities
};

// Those that both ways have in common; the others are empty.
std::vector<exact::Quantity> common_quantities() {
  std::vector<exact::Quantity> list(kQuantities);
  list[kCheck] = {{1, {P1, P1}}};
  list[kP2] = {{1, {P2}}};
  list[kP3] = {{1, {P3}}};
  list[kP2P2] = {{1, {P2, P2}}};
  list[kB] = {{1, {X, P1}}, {-1, {Y, Y}}};
  return list;
}

// B here is X - Y².
std::vector<exact::Quantity> local_quantities() {
  std::vector<exact::Quantity> list = common_quantities();
  list[kMean] = {{1, {Y, P1}}, {1, {P1, P1}, 1}};
  list[kBias] = {{1, {Y, P1}}, {1, {P1, P1}, 0, 1}};
  list[kMse] = {{1, {Y, Y}}, {2, {Y, P1}, 0, 1}, {1, {P1, P1}, 0, 2}};
  list[kBB] = {{1, {X, X, P1, P1}}, {-2, {X, Y, Y, P1}}, {1, {Y, Y, Y, Y}}};
  list[kBP2] = {{1, {X, P1, P2}}, {-1, {Y, Y, P2}}};
  list[kD] = {{1, {{2, 2, 0}, P1, P1}}, {-2, {Y, {2, 1, 0}, P1}}, {1, {Y, Y, P2}}};
  list[kSlopeP2] = {{2, {{2, 1, 0}, P1}}, {-2, {Y, P2}}};
  list[kSlopeP3] = {{3, {{3, 1, 0}, P1}}, {-3, {Y, P3}}};
  list[kSlopeP2P2] = {{4, {P2, {2, 1, 0}, P1}}, {-4, {Y, P2, P2}}};
  list[kSquare] = {{1, {Y, Y}}, {2, {Y, P1}, 1}, {1, {P1, P1}, 2}};
  return list;
}

// Without E[A] = s - s E[P_2], the bias, and E[A²] = s² (1 - 2 E[P_2]) + E[(A - s)²].
std::vector<exact::Quantity> tilted_quantities() {
  std::vector<exact::Quantity> list = common_quantities();
  list[kMse] = {{1, {Y, Y}}};
  list[kBB] = {{1, {X, X}}, {-2, {X, Y, Y}}, {1, {Y, Y, Y, Y}}};
  list[kBP2] = {{1, {X, P2}}, {-1, {Y, Y, P2}}};
  list[kD] = {{1, {{2, 2, 0}}}, {-2, {Y, {2, 1, 0}}}, {1, {Y, Y, P2}}};
  list[kSlopeP2] = {{2, {{2, 1, 0}}}, {-2, {Y, P2}}};
  list[kSlopeP3] = {{3, {{3, 1, 0}}}, {-3, {Y, P3}}};
  list[kSlopeP2P2] = {{4, {P2, {2, 1, 0}}}, {-4, {Y, P2, P2}}};
  return list;
}

// (d E[statistic]/ds)/s, reduced to power sums by parts: every coefficient is then a multiple of s.
exact::Quantity slope_over_s(const SoftmaxExpression& statistic) {
  exact::Quantity quantity;
  const SoftmaxExpression slope = reduce_by_parts(derivative_in_s(statistic));
  for (const auto& [factors, coefficient] : slope.terms()) {
    assert(coefficient.size() == 2 && coefficient[0] == 0);
    exact::Product& product = quantity.emplace_back();
    product.coefficient = static_cast<double>(coefficient[1]);
    for (const SoftmaxSum& factor : factors) product.factors.push_back({factor.k, 0, 0});
  }
  return quantity;
}

std::vector<exact::Quantity> quantities_for_small_s() {
  std::vector<exact::Quantity> list = tilted_quantities();
  list[kSlopeP2] = slope_over_s(power_sum(2));
  list[kSlopeP3] = slope_over_s(power_sum(3));
  list[kSlopeP2P2] = slope_over_s(power_sum(2) * power_sum(2));
  return list;
}

Estimate operator+(Estimate a, Estimate b) { return {a.value + b.value, a.error + b.error}; }
Estimate operator+(double a, Estimate b) { return {a + b.value, b.error + 0x1p-53 * std::abs(a + b.value)}; }
Estimate operator*(double a, Estimate b) { return {a * b.value, std::abs(a) * b.error}; }

// A value from a few operations on exact numbers.
Estimate rounded(double value) {
  return {value, 4 * std::numeric_limits<double>::epsilon() * std::abs(value) +
                     std::numeric_limits<double>::denorm_min()};
}

// Equal weights 1/L: A is the mean, B the biased variance of L normals.
SoftmaxMoments at_zero(double L) {
  const double p = 1 / L;
  SoftmaxMoments m;
  m.L = L;
  m.P2 = rounded(p);
  m.P3 = rounded(p * p);
  m.P2P2 = m.P3;
  m.mse = m.square = m.P2;
  m.variance = rounded((L - 1) / L);
  m.variance_mse = rounded(p * (2 - p));
  m.variance_P2 = rounded(-p * p);
  m.squared_spread = rounded(p * ((L - 1) / L));
  return m;
}

// A = g_1, and nothing else is random.
SoftmaxMoments of_one_token(double s) {
  SoftmaxMoments m;
  m.s = s;
  m.L = 1;
  m.P2 = m.P3 = m.P2P2 = m.variance_mse = {1, 0};
  m.bias = {-s, 0};
  m.mse = rounded(1 + s * s);
  m.square = {1, 0};
  m.variance_P2 = {-1, 0};
  return m;
}

SoftmaxMoments of_infinite_prompt(double s) {
  SoftmaxMoments m;
  m.s = s;
  m.L = kInfinitePrompt;
  m.mean = {s, 0};
  m.square = rounded(s * s);
  m.variance = {1, 0};
  return m;
}

// The sums over lengths of one group, times their weights. The centre of the scores is that of the longest.
SoftmaxMoments of_group(double s, std::span<const LengthNode> lengths) {
  static const exact::MasterFormula kTilted(tilted_quantities());
  static const exact::MasterFormula kLocal(local_quantities());
  static const exact::MasterFormula kSmall(quantities_for_small_s());
  const bool tilted = exact::ScoreIntegrals::tilted(s, lengths.back().L);
  const bool small = tilted && s < 1;
  const exact::MasterFormula& formula = small ? kSmall : tilted ? kTilted : kLocal;
  const std::vector<Estimate> e = formula(s, lengths);

  SoftmaxMoments m;
  m.s = s;
  double total = 0;
  for (const LengthNode& node : lengths) {
    m.L += node.weight * node.L;
    total += node.weight;
  }
  m.self_check = e[kCheck].value - total;
  m.P2 = e[kP2];
  m.P3 = e[kP3];
  m.P2P2 = e[kP2P2];
  m.mse = e[kMse];
  m.squared_spread = e[kD];
  const double slope = small ? s : 1;
  m.P2_slope = slope * e[kSlopeP2];
  m.P3_slope = slope * e[kSlopeP3];
  m.P2P2_slope = slope * e[kSlopeP2P2];
  if (tilted) {
    m.bias = -s * m.P2;
    m.mean = total * s + m.bias;
    m.square = total * s * s + (2 * s * m.bias + m.mse);
    m.variance = total + e[kB];
    m.variance_mse = e[kBB];
    m.variance_P2 = e[kBP2];
  } else {
    m.mean = e[kMean];
    m.bias = e[kBias];
    m.square = e[kSquare];
    m.variance = e[kB];
    m.variance_mse = total + (-2 * e[kB] + e[kBB]);
    m.variance_P2 = e[kBP2] + -1 * m.P2;
  }
  return m;
}

// The first length has a closed form, or those up to kWidestGroup times as long share an integral with it.
std::size_t group_size(double s, std::span<const LengthNode> lengths) {
  std::size_t size = 1;
  if (s == 0 || lengths.front().L == 1) return size;
  while (size < lengths.size() && lengths[size].L <= kWidestGroup * lengths.front().L) ++size;
  return size;
}

void add(SoftmaxMoments& sum, double weight, const SoftmaxMoments& m) {
  using M = SoftmaxMoments;
  sum.L += weight * m.L;
  sum.self_check += weight * m.self_check;
  for (const auto field :
       {&M::P2, &M::P3, &M::P2P2, &M::mean, &M::bias, &M::mse, &M::square, &M::variance, &M::variance_mse,
        &M::variance_P2, &M::squared_spread, &M::P2_slope, &M::P3_slope, &M::P2P2_slope}) {
    sum.*field = sum.*field + weight * (m.*field);
  }
}

}  // namespace

SoftmaxMoments softmax_moments(double s, double L) {
  constexpr const char* kName = "softmax_moments";
  check_score_spread(kName, s);
  check_prompt_length(kName, L);
  if (L == 1) return of_one_token(s);
  if (L == kInfinitePrompt) return of_infinite_prompt(s);
  if (s == 0) return at_zero(L);
  const LengthNode one{L, 1};
  return of_group(s, std::span(&one, 1));
}

SoftmaxMoments softmax_moments(double s, std::span<const LengthNode> lengths) {
  check_score_spread("softmax_moments", s);
  for (const LengthNode& node : lengths) check_prompt_length("softmax_moments", node.L);
  SoftmaxMoments sum;
  sum.s = s;
  while (!lengths.empty()) {
    const std::size_t size = group_size(s, lengths);
    if (size == 1) {
      add(sum, lengths.front().weight, softmax_moments(s, lengths.front().L));
    } else {
      add(sum, 1, of_group(s, lengths.first(size)));
    }
    lengths = lengths.subspan(size);
  }
  return sum;
}

std::vector<SoftmaxMoments> softmax_moments(std::span<const double> spreads, std::span<const double> lengths,
                                            const Execution& execution) {
  std::vector<SoftmaxMoments> grid(spreads.size() * lengths.size());
  runtime::parallel_for(std::ssize(grid), execution, [&](std::ptrdiff_t i) {
    runtime::check_stop(execution);
    const auto at = static_cast<std::size_t>(i);
    grid[at] = softmax_moments(spreads[at / lengths.size()], lengths[at % lengths.size()]);
  });
  return grid;
}

double condensation_line(double L) {
  check_prompt_length("condensation_line", L);
  return std::sqrt(2 * std::log(L));
}

double concentration_exponent(double s, double L) {
  check_score_spread("concentration_exponent", s);
  const double line = condensation_line(L);
  if (s >= line) return 0;
  const double x = s / line;
  if (3 * x * x <= 1) return 1 - 2 * x * x;
  const double gap = 1 / x - x;
  return 0.25 * gap * gap;
}

double bulk_P2(double s, double L) {
  check_score_spread("bulk_P2", s);
  check_prompt_length("bulk_P2", L);
  return std::exp(std::min(0.0, s * s - std::log(L)));
}

double averaged_exponent(double sigma) {
  check_positive("averaged_exponent", "sigma", sigma);
  const double variance = sigma * sigma;
  return variance <= 0.5 ? 1 : 0.5 * (std::sqrt(1 + 4 / variance) - 1);
}

}  // namespace largo
