// The inner sums of ScoreIntegrals, vectorised. All of them are over nodes u_i = first + i step, offsets from
// the maximum of an integrand. The bits do not depend on the SIMD level: node i always goes to partial sum
// i mod 4.
#pragma once

#include <cstddef>

namespace largo::exact {

inline constexpr std::size_t kNodesAtOnce = 4;

/// The sum of the partial sums, in a fixed order.
inline double total(const double* partial) { return (partial[0] + partial[2]) + (partial[1] + partial[3]); }

struct KernelNodes {
  std::size_t count = 0;  ///< a multiple of kNodesAtOnce
  double first = 0;
  double step = 0;
  double b = 0;                    ///< s e^x at the maximum
  double rate = 0;                 ///< e^x at the maximum
  double start = 0;                ///< e^{s first}
  const double* powers = nullptr;  ///< e^{s step i}
};

/// growth[i] = e^{s u_i}, weight[i] = e^{u (b - u/2) - rate (e^{su} - 1)}: the integrand over its maximum.
void score_weights(const KernelNodes& nodes, double* weight, double* growth);

/// moments[k (degree + 1) + m] = Σ_i weight[i] growth[i]^k (u_i + shift)^m, for k < powers and m <= degree
/// <= 4.
void score_moments(const KernelNodes& nodes, const double* weight, const double* growth, double shift,
                   std::size_t powers, std::size_t degree, double* moments);

/// Σ weight[i] (e^v - 1)/v over nodes before `half`, v = rate growth[i] <= 1/2 there.
double score_complement(const KernelNodes& nodes, const double* weight, const double* growth,
                        std::size_t half);

}  // namespace largo::exact
