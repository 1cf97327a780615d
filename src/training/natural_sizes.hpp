// How large a change of a parameter is natural: what tolerances, differences and ends of flows are measured
// by, so that they depend on no unit of parameters, risk or time.
#pragma once

#include "largo/runtime/matrix.hpp"
#include "largo/training/risk.hpp"

namespace largo {

/// Parameters of one problem may differ by a hundred orders of magnitude, and some of them are zero. What
/// they share is the risk: θ_k contributes some θ_k² |H_kk| to it, and
///   size_j = min(√(max_k θ_k² |H_kk| / |H_jj|), max_k |θ_k|) >= |θ_j|
/// is how large θ_j would have to be to contribute as much as the largest does. Where nothing is known of H,
/// the root mean square of the parameters; for a start at zero the way at its slope to a risk of zero.
class NaturalSizes {
 public:
  explicit NaturalSizes(const RiskPoint& start);

  /// From now on with this diagonal of the Hessian.
  void set_curvature(const Vector& diagonal) { curvature_ = diagonal.cwiseAbs(); }
  bool has_curvature() const { return curvature_.size() > 0; }

  Vector at(const Vector& parameters) const;

  /// The largest θ_k² |H_kk|, a risk; 0 without curvature.
  double risk_at(const Vector& parameters) const;

  /// As at(), where no parameter need contribute more than `risk`, nor be larger than `largest`.
  Vector at(const Vector& parameters, double risk, double largest) const;

 private:
  double fallback_;   // of a start at zero
  Vector curvature_;  // |H_jj|
};

/// The norm, also where squares leave the range of doubles.
double norm_of(const Vector& values);

}  // namespace largo
