// Chi-squared variables and the prompt of linear attention that they make (src/sampling/chi_squared.hpp and
// src/sampling/linear_prompt.hpp), from candidates that the caller provides.
#pragma once

#include "collapsed.cuh"
#include "draws.cuh"

namespace largo::cuda {

struct Candidate {
  double normal, uniform;
};

/// The i-th candidate: sixteen from every group of eight tokens.
LARGO_HOST_DEVICE Candidate candidate(const Address& normal_draws, const Address& uniform_draws,
                                      std::uint64_t i) {
  const std::uint64_t group = i / 16, t = i % 8;
  const Address normals_at{normal_draws.seed, normal_draws.stream, normal_draws.first + 16 * group};
  const Address words_at{uniform_draws.seed, uniform_draws.stream, uniform_draws.first + 4 * group};
  const Pair<float> x = token_normals(normals_at, t);
  const Pair<std::uint32_t> words = token_words(words_at, t);
  const bool second = i % 16 >= 8;
  return {double{second ? x.second : x.first},
          (static_cast<double>(second ? words.second : words.first) + 0.5) * 0x1p-32};
}

/// χ² with `degrees` degrees of freedom, by Marsaglia and Tsang's rejection. `next()` gives the candidates in
/// order.
template <typename Next>
LARGO_HOST_DEVICE double chi_squared(std::int64_t degrees, Next& next) {
  if (degrees == 0) return 0;
  if (degrees == 1) {
    const double x = next().normal;
    return x * x;
  }
  const double delta = static_cast<double>(degrees) / 2 - 1.0 / 3;
  const double c = 1 / root(9 * delta);
  for (;;) {
    const Candidate drawn = next();
    const double x = drawn.normal, u = drawn.uniform;
    const double base = 1 + c * x;
    if (base <= 0) continue;
    const double w = base * base * base;
    const double xx = x * x;
    if (u < 1 - 0.0331 * xx * xx) return 2 * delta * w;
    if (logarithm(u) < xx / 2 + delta * (1 - w + logarithm(w))) return 2 * delta * w;
  }
}

/// S e and S b of a prompt of L tokens under linear attention, in the places of the sums of softmax.
template <typename Next>
LARGO_HOST_DEVICE CollapsedSums linear_sums(std::int64_t L, double alpha, double beta, Next& next) {
  const auto length = static_cast<double>(L);
  const double X = larger_of(chi_squared(L, next), kSmallestShare);
  const double zeta = next().normal;
  const double Y = chi_squared(L - 1, next);
  const double ee = X / length;
  const double ef = root(X) * zeta / length;
  const double ff = (zeta * zeta + Y) / length;
  CollapsedSums sums;
  sums.g = ee;
  sums.h = ef;
  sums.vg = alpha * ee + beta * ef;
  sums.vh = alpha * ef + beta * ff;
  sums.p2 = ee / length;
  sums.p2v = sums.vg / length;
  sums.p2vv = sums.p2v * (sums.p2v / sums.p2) + beta * beta * (Y / length) / length;
  return sums;
}

}  // namespace largo::cuda
