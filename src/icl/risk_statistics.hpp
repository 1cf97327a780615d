// The statistics of softmax attention that risks need, as functions of s².
#pragma once

#include <cmath>

#include "exact/sink_table.hpp"
#include "largo/exact/softmax_moments.hpp"
#include "largo/exact/softmax_table.hpp"
#include "largo/runtime/check.hpp"
#include "largo/training/risk.hpp"

namespace largo::icl {

struct RiskStatistics {
  double p = 0;                       ///< E[P_2]
  double phi = 0;                     ///< F - 1 = -E[P_2] - 6 E[P_3] + 6 E[P_2²]
  double p_slope = 0, phi_slope = 0;  ///< d/ds²
  double rest = 0, F = 0;             ///< 1 - p and F, accurate where both are small
  double relative_error = 0;
  double lost = 0, lost_slope = 0;  ///< 1 - E[A]/s; p without a sink
};

inline RiskStatistics risk_statistics(const SoftmaxTable& table, double square) {
  constexpr double kLeastSpread =
      1e-6;  // the statistics are even in s: their slopes in s² are constant there
  const double s = std::max(std::sqrt(square), kLeastSpread);
  const SoftmaxStatistics m = table(s);
  const double half = 0.5 / s;
  return {m.P2,
          -m.P2 - 6 * m.P3 + 6 * m.P2P2,
          half * m.P2_slope,
          half * (-m.P2_slope - 6 * m.P3_slope + 6 * m.P2P2_slope),
          m.mean / s,
          m.F,
          m.relative_error,
          m.P2,
          half * m.P2_slope};
}

/// Beside a sink.
inline RiskStatistics risk_statistics(const exact::SinkTable& table, double square) {
  const exact::SinkStatistics m = table(square);
  return {m.p, m.phi, m.p_slope, m.phi_slope, 1 - m.lost, 1 + m.phi, m.relative_error, m.lost, m.lost_slope};
}

inline void check_risk(const char* function, const RiskPoint& point) {
  if (!std::isfinite(point.value) || !point.gradient.allFinite()) {
    fail(function, "the risk or its gradient overflows: scale down the parameters");
  }
}

}  // namespace largo::icl
