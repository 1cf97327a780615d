#include "exact/token_classes_oracle.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

namespace largo::oracle {
namespace {

constexpr Long kStep = 1.0L / 6;  // in y, and in s g
constexpr Long kReach = 13;       // of the normal law
constexpr Long kPi = std::numbers::pi_v<Long>;

Long normal(Long g) { return std::exp(-g * g / 2) / std::sqrt(2 * kPi); }

struct Inner {
  Long log_phi = 0;
  std::array<Long, 5> power{};  // E[u^k e^-u]
};

// Sums over g from all that could matter: the normal law, tilted by u^4 at most, and e^-u.
Inner inner(const TokenClass& one, Long y, int refine) {
  const Long b = one.shift, s = one.spread;
  Inner found;
  if (s == 0) {
    const Long u = std::exp(y + b);
    found.log_phi = -u;
    for (int k = 1; k <= 4; ++k) found.power[k] = std::exp(k * (y + b) - u);
    return found;
  }
  const Long step = std::min(0.3L, kStep / s) / refine;
  const Long last = kReach + std::max(0.0L, std::min(4 * s, -(y + b) / s));
  const Long first = -kReach - std::max(0.0L, (y + b) / s);
  Long missing = 0, phi = 0;
  for (Long g = std::floor(first / step) * step; g <= last; g += step) {
    const Long x = y + b + s * g, u = std::exp(std::min(x, 11000.0L)), weight = step * normal(g);
    missing -= weight * std::expm1(-u);
    if (u > 11000) continue;
    const Long kept = weight * std::exp(-u);
    phi += kept;
    Long power = kept;
    for (int k = 1; k <= 4; ++k) found.power[k] += power *= u;
  }
  found.log_phi = missing < 0.5L ? std::log1p(-missing) : std::log(phi);
  return found;
}

}  // namespace

ClassReference class_reference(const std::vector<TokenClass>& classes, int refine) {
  const std::size_t count = classes.size();
  ClassReference sum;
  sum.weights.assign(count, 0);
  sum.squares.assign(count, 0);
  Long first = 1e30L, centre = 1e30L;
  for (const TokenClass& one : classes) {
    const Long log_n = std::log(static_cast<Long>(one.count)), b = one.shift, s = one.spread;
    first = std::min(first, -b - log_n - s * (std::sqrt(2 * log_n) + kReach) - 60);
    centre = std::min(centre, -b - log_n);
  }
  const Long step = kStep / refine;
  std::vector<Inner> at(count);
  for (Long y = first;; y += step) {
    Long log_all = 0;
    for (std::size_t c = 0; c < count; ++c) {
      at[c] = inner(classes[c], y, refine);
      log_all += classes[c].count * at[c].log_phi;
    }
    const Long all = std::exp(log_all), t = std::exp(y - centre);
    sum.log_partition += step * (t < 0.5L ? std::expm1(-t) - std::expm1(log_all) : std::exp(-t) - all);
    if (y > centre + 10 && log_all < -400) break;
    if (all == 0) continue;
    Long pairs = 0, before = 0;
    for (std::size_t c = 0; c < count; ++c) {
      const Long n = classes[c].count;
      const auto R = [&](int k) { return at[c].power[k] * std::exp(log_all - at[c].log_phi); };
      sum.weights[c] += step * n * R(1);
      sum.squares[c] += step * n * R(2);
      sum.P3 += step * n * R(3) / 2;
      pairs += n * R(4);
      const Long two = at[c].power[2] * std::exp(-at[c].log_phi);
      pairs += all * n * two * ((n - 1) * two + 2 * before);
      before += n * two;
    }
    sum.P2P2 += step * pairs / 6;
  }
  sum.log_partition -= centre;
  sum.entropy = sum.log_partition;
  for (std::size_t c = 0; c < count; ++c) {
    const Long s = classes[c].spread;
    sum.P2 += sum.squares[c];
    sum.entropy -= classes[c].shift * sum.weights[c] + s * s * (sum.weights[c] - sum.squares[c]);
  }
  return sum;
}

Long largest_weight_reference(Long n, Long s) {
  constexpr Long kFine = 0.002L, kEnd = 11;
  Long sum = 0;
  for (Long y = -std::log(n) - s * (std::sqrt(2 * std::log(n)) + 6) - 40; y < 30; y += 0.2L) {
    Long here = 0, below = 0, before = 0;
    for (Long g = -kEnd; g <= kEnd; g += kFine) {
      // Simpson's rule from one node to the next, with the value in the middle.
      const auto f = [&](Long at) { return normal(at) * std::exp(-std::exp(y + s * at)); };
      const Long value = f(g);
      below += kFine / 6 * (before + 4 * f(g - kFine / 2) + value);
      before = value;
      if (below > 0) here += kFine * n * std::exp(y + s * g + (n - 1) * std::log(below)) * value;
    }
    sum += 0.2L * here;
  }
  return sum;
}

}  // namespace largo::oracle
