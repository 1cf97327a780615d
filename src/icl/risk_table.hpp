// RiskStatistics for averages over many tasks: cubic interpolation on a fine grid in s.
#pragma once

#include <cstddef>
#include <memory>

#include "icl/risk_statistics.hpp"
#include "runtime/aligned_vector.hpp"

namespace largo::icl {

/// Rows of the statistics at many squares s².
struct RiskRows {
  double *p, *phi, *p_slope, *phi_slope;
};

/// Slopes are those of the interpolants, so that an average and its gradient agree to rounding. Error: below
/// 1e-6 of p up to L = 1e12 (quadrature of exact risks uses risk_statistics instead). Cost: 6 ns, or that of
/// SoftmaxTable beyond s = 32.
class RiskTable {
 public:
  explicit RiskTable(const LengthLaw& L);

  /// Evaluates at `count` squares >= 0, a multiple of 8, in aligned rows. The same bits at every SIMD level.
  void evaluate(const double* squares, std::size_t count, const RiskRows& rows) const;

  struct Knot {
    double p, p_slope, phi, phi_slope;  // slopes in s, times the step
  };

 private:
  std::shared_ptr<const SoftmaxTable> table_;
  runtime::AlignedVector<Knot> knots_;
};

}  // namespace largo::icl
