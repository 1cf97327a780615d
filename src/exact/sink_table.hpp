// The statistics that risks need (p, E[A] and E[A²]) where tokens of given scores stand beside the L Gaussian
// ones.
//
// A prompt has L tokens of scores s g_i, and sinks: tokens whose scores are given and whose values are zero.
// They only add a constant e^β to Σ_j e^{s g_j}, the sum of e^score over them. With p_i the weights of the L
// tokens, P_k = Σ p_i^k over these, W = P_1 and V = 1 - W the weight of the sinks, A = Σ p_i g_i, integration
// by parts gives
//
//   E[A]   = s (E[W] - E[P_2])
//   E[A²]  = E[P_2] + s² F,    F = E[W²] - 4 E[W P_2] + 3 E[P_2] + 6 E[P_2²] - 6 E[P_3].
//
// Without sinks, W = 1 and F is that of softmax_moments.hpp. docs/icl.md derives the risk from these.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

#include "largo/exact/length_law.hpp"

namespace largo::exact {

/// Sinks of more weight than e^this, or less than e^-this, are refused.
inline constexpr double kLargestSink = 300;

struct SinkStatistics {
  double p = 0;                                       ///< E[P_2]
  double lost = 0;                                    ///< 1 - E[A]/s = E[V] + E[P_2]
  double phi = 0;                                     ///< F - 1
  double p_slope = 0, lost_slope = 0, phi_slope = 0;  ///< d/ds²
  double relative_error = 0;  ///< of p, lost and phi, relative to lost; slopes: some ten times more
};

/// At one s, by the integrals of class_moments(). Domain: L from 1 to kLargestL, |β| up to kLargestSink.
/// Slopes are zero. Error: 1e-12 of `lost`, up to 1e-8 for s = 1e4. Cost: 0.5 ms for each length of the law's
/// rule.
SinkStatistics sink_statistics(double s, const LengthLaw& L, double sink);

/// The same as a function of s², from Chebyshev interpolants on panels, which are made when they are first
/// needed: with the same bits whichever thread is first. Slopes are those of the interpolants. Domain: s²
/// from 0 to kMostSquare. Error: 1e-11 of `lost` up to s = 100, with its estimate. Cost: 100 ns; 10 ms for
/// the first s of a panel.
class SinkTable {
 public:
  static constexpr double kMostSquare = 1e8;

  SinkTable(LengthLaw L, double sink);

  /// InputError beyond kMostSquare.
  SinkStatistics operator()(double square) const;

  /// A table that all callers share; the last 16 are kept.
  static std::shared_ptr<const SinkTable> shared(const LengthLaw& L, double sink);

 private:
  static constexpr std::size_t kNodes = 18, kFields = 3, kGroups = 44;
  struct Panel {
    double low, high;  // of the variable: s² in the first group, ln s² in the others
    std::array<std::array<double, kNodes>, kFields> coefficients;
    double excess, relative_error;  // of the interpolation, and with that of the values
  };

  Panel made(double low, double high, bool of_logarithm) const;
  void split(double low, double high, bool of_logarithm, int splits, std::vector<Panel>& panels) const;

  LengthLaw L_;
  double sink_;
  mutable std::array<std::once_flag, kGroups> once_;
  mutable std::array<std::vector<Panel>, kGroups> groups_;
};

}  // namespace largo::exact
