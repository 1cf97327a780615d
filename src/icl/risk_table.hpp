// RiskStatistics for averages over many tasks: cubic interpolation on a fine grid in s.
#pragma once

#include <memory>
#include <vector>

#include "icl/risk_statistics.hpp"

namespace largo {

/// Slopes are those of the interpolants, so that an average and its gradient fit together to rounding. Error:
/// below 1e-6 of p up to L = 1e12 (quadrature of exact risks uses risk_statistics instead). Cost: 10 ns, and
/// beyond s = 32 that of SoftmaxTable.
class RiskTable {
 public:
  explicit RiskTable(double L);
  RiskStatistics operator()(double square) const;

 private:
  struct Knot {
    double p, p_slope, phi, phi_slope;  // slopes in s, times the step
  };
  std::shared_ptr<const SoftmaxTable> table_;
  std::vector<Knot> knots_;
};

}  // namespace largo
