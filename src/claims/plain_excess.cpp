#include "claims/plain_excess.hpp"
#include "claims/claims.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

namespace largo::claims {
namespace {

constexpr double kPi = std::numbers::pi;
constexpr double kDepth = 34;  // terms below e^-kDepth are left out

// p = E[P_2] and phi = F - 1 = -E[P_2] - 6 E[P_3] + 6 E[P_2²].
struct PlainStatistics {
  double p = 0, phi = 0;
};

PlainStatistics from_power_sums(double p2, double p3, double p2p2) { return {p2, -p2 - 6 * p3 + 6 * p2p2}; }

// Integrals over y = ln t of averages over x = y + s g (docs/moments.md), both on the same grid.
PlainStatistics plain_statistics(double s, double L) {
  constexpr double kSmall = 0.03, kLargestStep = 0.35, kEnd = 4.5;  // e^{4x - e^x} is negligible beyond kEnd
  const double n = 1 / L;
  if (s < kSmall) {  // two terms in s²
    const double change = s * s * n * n * (1 - n);
    return from_power_sums(n + s * s * n * (1 - n), n * n + 3 * change, n * n + 2 * change);
  }
  const double h = std::min(kLargestStep, 0.6 * s), log_L = std::log(L);
  const double far = std::sqrt(2 * (log_L + kDepth)) * s;
  const int half = static_cast<int>(far / h);
  std::vector<double> kernel(2 * static_cast<std::size_t>(half) + 1), beyond(kernel.size() + 1);
  for (int k = -half; k <= half; ++k) {
    const double g = k * h / s;
    kernel[static_cast<std::size_t>(k + half)] = h / (s * std::sqrt(2 * kPi)) * std::exp(-g * g / 2);
  }
  for (std::size_t i = kernel.size(); i-- > 0;) beyond[i] = beyond[i + 1] + kernel[i];
  const int end = static_cast<int>(kEnd / h);
  const int first = -static_cast<int>((log_L + kDepth + std::min(s * s / 2, far)) / h);
  const int last = static_cast<int>((6 + (L < 1e4 ? 12 * s : 0)) / h);
  const int begin = first - half;
  struct Powers {
    double missing, two, three, four;
  };
  std::vector<Powers> powers;
  for (int i = begin; i <= end; ++i) {
    const double e = std::exp(i * h), f = std::exp(-e);
    powers.push_back({-std::expm1(-e), e * e * f, e * e * e * f, e * e * e * e * f});
  }
  double p2 = 0, p3 = 0, p2p2 = 0;
  for (int j = first; j <= last; ++j) {
    Powers sum{};
    const int until = std::min(j + half, end);
    for (int i = j - half; i <= until; ++i) {
      const double weight = kernel[static_cast<std::size_t>(i - j + half)];
      const Powers& at = powers[static_cast<std::size_t>(i - begin)];
      sum.missing += weight * at.missing;
      sum.two += weight * at.two;
      sum.three += weight * at.three;
      sum.four += weight * at.four;
    }
    if (until < j + half) sum.missing += beyond[static_cast<std::size_t>(std::max(until - j + half + 1, 0))];
    const double log_phi = std::log1p(-std::min(sum.missing, 1 - 1e-15));
    const double others = L * std::exp((L - 1) * log_phi), pairs = (L - 1) * L * std::exp((L - 2) * log_phi);
    p2 += others * sum.two;
    p3 += others * sum.three / 2;
    p2p2 += (others * sum.four + pairs * sum.two * sum.two) / 6;
  }
  return from_power_sums(h * p2, h * p3, h * p2p2);
}

// ρ = log(1 + e^v) has fine steps near zero and even steps far out.
double positive(double v) { return v > 30 ? v : std::log1p(std::exp(v)); }
double slope(double v) { return 1 / (1 + std::exp(-v)); }

// With s = |x| ρ and ρ = |α e_1 + β w|: averages over the tasks with that ρ, times its weight in the rule.
struct TasksAt {
  double rho = 0, kappa = 0, cc = 0, cy = 0;  // c and y are divided by x
  void add(double weight, double first, double square, double alpha, double beta) {
    const double c = alpha * first + beta * square;
    kappa += weight * square;
    cc += weight * c * c;
    cy += weight * c * first;
  }
};

std::vector<TasksAt> tasks_by_rho(int dimension, double alpha, double beta) {
  constexpr double kStep = 0.1, kFirst = -14, kLargestTask = 14;
  constexpr int kAngles = 64;
  std::vector<TasksAt> all;
  for (double v = kFirst; positive(v) < alpha + beta * kLargestTask; v += kStep) {
    TasksAt at{.rho = positive(v)};
    const int angles = dimension == 1 ? 2 : kAngles;
    for (int k = 0; k < angles; ++k) {
      const double angle = 2 * kPi * k / angles;
      const double first = (at.rho * std::cos(angle) - alpha) / beta,
                   second = at.rho * std::sin(angle) / beta;
      const double square = first * first + (dimension == 1 ? 0 : second * second);
      const double density = dimension == 1 ? std::exp(-square / 2) / (std::sqrt(2 * kPi) * beta)
                                            : std::exp(-square / 2) / (beta * beta) * at.rho / angles;
      at.add(kStep * slope(v) * density, first, square, alpha, beta);
    }
    all.push_back(at);
  }
  return all;
}

}  // namespace

std::array<double, 2> plain_excess(double alpha, double beta, double L) {
  constexpr double kStep = 0.4, kFirst = -14, kLargestSpread = 32, kNegligible = 1e-13;
  const std::array tasks = {tasks_by_rho(1, alpha, beta), tasks_by_rho(2, alpha, beta)};
  std::array<double, 2> excess{};
  for (double v = kFirst; positive(v) < kLargestSpread; v += kStep) {
    const double s = positive(v);
    // Long before the weights condense, p is e^{s²}/L.
    if (3 * s * s < 2 * std::log(L) && std::exp(s * s) / L < kNegligible) continue;
    const PlainStatistics f = plain_statistics(s, L);
    for (std::size_t k = 0; k < tasks.size(); ++k) {
      for (const TasksAt& at : tasks[k]) {
        const double x = s / at.rho, density = 2 * std::exp(-x * x / 2) / std::sqrt(2 * kPi);
        const double given = x * x * (at.cc * f.phi + 2 * at.cy * f.p) + at.kappa * f.p;
        excess[k] += 0.5 * kStep * slope(v) * density / at.rho * given;
      }
    }
  }
  return excess;
}

}  // namespace largo::claims
