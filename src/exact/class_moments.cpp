// Integrals over y = ln t, as in master_formula.hpp. With y_c = y + b_c and R_c(k) = n_c E[e^{kx - e^x}]/φ_c,
// x = y_c + s_c g, and Φ = ∏_c φ_c^{n_c}:
//
//   W_c       = ∫ Φ R_c(1) dy
//   E[P_2]    = ∫ Φ Σ_c R_c(2) dy
//   E[P_3]    = ½ ∫ Φ Σ_c R_c(3) dy
//   E[P_2²]   = ⅙ ∫ Φ {Σ_c R_c(4) + Σ_{c,d} (1 - δ_cd/n_c) R_c(2) R_d(2)} dy
//   E ln S    = -γ - ∫ y Φ Σ_c R_c(1) dy
//
// The entropy is E ln S - E Σ p_i x_i. Where it is far smaller than these (one token has nearly all the
// weight), it is an integral of positive terms instead,
//
//   E H = ∫ Φ Σ_{c,d} (1 - δ_cd/n_c) H_c R_d(1) dy,   H_c = n_c E[h(e^x)]/φ_c,  h(u) = ∫_u^∞ e^-v (ln v + γ)
//   dv.
//
// The integrand of each class is log-concave in y, so that none of it hides behind a gap.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numbers>
#include <utility>

#include "exact/class_node.hpp"
#include "exact/line_rule.hpp"
#include "largo/exact/softmax_moments.hpp"
#include "largo/exact/token_classes.hpp"
#include "largo/runtime/check.hpp"

namespace largo {
namespace {

using exact::ClassIntegrals;
using exact::ClassNode;
using exact::ClassVariable;
using exact::LineValues;

// The entropy as a difference is taken where its error is at most this, relative.
constexpr double kEntropyError = 2e-11;

// Integrands in the order W_c, squares of each class, E[P_3], E[P_2²], the log-partition.
class ClassIntegrand {
 public:
  explicit ClassIntegrand(std::span<const TokenClass> classes) : node_(classes), count_(classes.size()) {}
  static std::size_t size(std::size_t classes) { return 2 * classes + 3; }

  void at(double v, double depth, LineValues& to) {
    const bool alive = node_.at(v, depth, to);
    std::fill(to.value.begin(), to.value.end(), 0.0);
    if (alive) fill(to);
    to.magnitude = to.value;
    to.magnitude.back() = std::abs(to.value.back());
  }

 private:
  void fill(LineValues& to) {
    const double w = node_.weight;
    double ones = 0, cubes = 0, fourths = 0, pairs = 0, squares = 0;
    for (std::size_t c = 0; c < count_; ++c) {
      const ClassIntegrals& one = node_.classes[c];
      to.value[c] = w * one.R(1);
      to.value[count_ + c] = w * one.R(2);
      ones += one.R(1);
      cubes += one.R(3);
      fourths += one.R(4);
      // Pairs of tokens, within the class and with those before it.
      pairs += one.R(2) * ((one.count() - 1) / one.count() * one.R(2) + 2 * squares);
      squares += one.R(2);
    }
    to.value[2 * count_] = w * cubes / 2;
    to.value[2 * count_ + 1] = w * (fourths + pairs) / 6;
    to.value.back() = -node_.y * w * ones;
  }

  ClassNode node_;
  std::size_t count_;
};

// The integrand of the entropy in positive terms.
class EntropyIntegrand {
 public:
  explicit EntropyIntegrand(std::span<const TokenClass> classes) : node_(classes) {}

  void at(double v, double depth, LineValues& to) {
    double sum = 0;
    if (node_.at(v, depth, to)) {
      double remainders = 0, ones = 0;
      for (ClassIntegrals& one : node_.classes) {
        const double H = one.remainder(node_.y), R = one.R(1);
        sum += H * ((one.count() - 1) / one.count() * R + ones) + R * remainders;
        remainders += H;
        ones += R;
      }
    }
    to.value[0] = to.magnitude[0] = sum * node_.weight;
  }

 private:
  ClassNode node_;
};

}  // namespace

ClassMoments class_moments(std::span<const TokenClass> given) {
  exact::check_classes("class_moments", given);
  const std::size_t count = given.size();
  constexpr double kEpsilon = std::numeric_limits<double>::epsilon();
  // Scores are shifted so that S is of the order of one: nothing large then cancels.
  const double shift = ClassVariable(given).middle();
  std::vector<TokenClass> classes(given.begin(), given.end());
  for (TokenClass& one : classes) one.shift += shift;

  const std::vector<Estimate> e =
      exact::LineRule(ClassIntegrand(classes), ClassIntegrand::size(count), exact::kClassStep)
          .integrals(exact::kClassHalvings);
  ClassMoments m;
  m.weights.assign(e.begin(), e.begin() + static_cast<std::ptrdiff_t>(count));
  m.squares.assign(e.begin() + static_cast<std::ptrdiff_t>(count),
                   e.begin() + static_cast<std::ptrdiff_t>(2 * count));
  m.P3 = e[2 * count];
  m.P2P2 = e[2 * count + 1];
  m.log_partition = {e.back().value - std::numbers::egamma, e.back().error + 2 * kEpsilon};
  m.self_check = -1;
  for (std::size_t c = 0; c < count; ++c) {
    const auto& [n, b, s] = classes[c];
    const Estimate &W = m.weights[c], &Q = m.squares[c];
    m.self_check += W.value;
    m.P2.value += Q.value;
    m.P2.error += Q.error;
    m.mean_score.value += b * W.value + s * s * (W.value - Q.value);
    m.mean_score.error +=
        std::abs(b) * (W.error + kEpsilon * W.value) + s * s * (W.error + Q.error + 4 * kEpsilon * W.value);
  }
  m.entropy = {m.log_partition.value - m.mean_score.value,
               m.log_partition.error + m.mean_score.error + kEpsilon * std::abs(m.mean_score.value)};
  if (!(m.entropy.error <= kEntropyError * m.entropy.value)) {
    m.entropy = exact::LineRule(EntropyIntegrand(classes), 1, exact::kClassStep)
                    .integrals(exact::kClassHalvings)
                    .front();
  }
  const double rounding = 2 * kEpsilon * std::abs(shift);
  m.log_partition = {m.log_partition.value - shift, m.log_partition.error + rounding};
  m.mean_score = {m.mean_score.value - shift, m.mean_score.error + rounding};
  return m;
}

}  // namespace largo
