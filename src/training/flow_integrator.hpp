// The steps of a gradient flow, made by CVODE.
#pragma once

#include <exception>
#include <functional>
#include <memory>

#include <cvode/cvode.h>
#include <nvector/nvector_serial.h>
#include <sunlinsol/sunlinsol_dense.h>
#include <sunmatrix/sunmatrix_dense.h>

#include "largo/runtime/execution.hpp"
#include "largo/runtime/matrix.hpp"
#include "largo/training/flow_plan.hpp"
#include "largo/training/risk.hpp"

namespace largo::training {

/// The natural size of a change of each parameter. Tolerances, differences and ends of flows are measured by
/// it, so that they do not depend on the units of parameters, risk or time. Parameters of one problem may
/// differ by a hundred orders of magnitude, and some of them are zero. What they share is the risk: θ_k
/// contributes about θ_k² |H_kk| to it, and
///   size_j = min(√(max_k θ_k² |H_kk| / |H_jj|), max_k |θ_k|) >= |θ_j|
/// is how large θ_j would have to be to contribute as much as the largest does. If H is not known, the size
/// is the root mean square of the parameters; for a start at zero, it is the distance to a risk of zero at
/// the initial slope.
class NaturalSizes {
 public:
  explicit NaturalSizes(const RiskPoint& start);

  /// Uses this diagonal of the Hessian from now on.
  void set_curvature(const Vector& diagonal) { curvature_ = diagonal.cwiseAbs(); }
  bool has_curvature() const { return curvature_.size() > 0; }

  Vector at(const Vector& parameters) const;

  /// The largest θ_k² |H_kk|, which is a risk; 0 without curvature.
  double risk_at(const Vector& parameters) const;

  /// Like at(), with a largest contribution of at least `risk` and a largest parameter of at least `largest`.
  Vector at(const Vector& parameters, double risk, double largest) const;

 private:
  double fallback_;   // size for a start at zero
  Vector curvature_;  // |H_jj|
};

/// The norm, also if squares leave the range of double.
double norm_of(const Vector& values);

/// R at `parameters`. InputError if it or its gradient is not finite.
RiskPoint finite_risk(const Risk& risk, const ConstVectorRef& parameters);

/// Backward differentiation with steps of variable size and order. Errors of steps, and everything else, are
/// measured in NaturalSizes: R(θ) and 2^i R(2^j θ) have the same steps, to the bit.
class FlowIntegrator {
 public:
  FlowIntegrator(const Risk& risk, const Vector& start, const RiskPoint& first, const FlowPlan& plan,
                 const Execution& execution);

  /// Makes one step and returns the time at its end. InputError if no step is possible, as near a time at
  /// which the flow is infinite.
  double step();

  Vector parameters() const;
  Matrix values_on_step() const;  ///< in the form that Trajectory::add() takes
  const NaturalSizes& sizes() const { return sizes_; }

  /// The Hessian of the dense method, at `parameters` or at a point from which they have moved by less than a
  /// hundredth of their sizes.
  const Matrix& hessian_near(const Vector& parameters);

  std::int64_t evaluations() const { return evaluations_; }

 private:
  static int slope(double time, N_Vector parameters, N_Vector slope, void* self);
  static int weights(N_Vector parameters, N_Vector weights, void* self);
  static int jacobian(double time, N_Vector parameters, N_Vector slope, SUNMatrix matrix, void* self,
                      N_Vector, N_Vector, N_Vector);
  int guarded(const std::function<void()>& work);
  void compute_hessian(const Vector& here);

  const Risk& risk_;
  const Execution& execution_;
  double end_, relative_tolerance_, absolute_tolerance_;
  NaturalSizes sizes_;
  Matrix hessian_;
  Vector hessian_at_;
  std::exception_ptr failure_;
  std::int64_t evaluations_ = 0;
  double time_ = 0;

  // SUNDIALS objects, freed in the reverse order of their construction.
  struct FreeContext {
    void operator()(SUNContext context) const { SUNContext_Free(&context); }
  };
  struct FreeVector {
    void operator()(N_Vector vector) const { N_VDestroy(vector); }
  };
  struct FreeMatrix {
    void operator()(SUNMatrix matrix) const { SUNMatDestroy(matrix); }
  };
  struct FreeSolver {
    void operator()(SUNLinearSolver solver) const { SUNLinSolFree(solver); }
  };
  struct FreeIntegrator {
    void operator()(void* memory) const { CVodeFree(&memory); }
  };
  template <typename Pointer, typename Free>
  using Owned = std::unique_ptr<std::remove_pointer_t<Pointer>, Free>;
  Owned<SUNContext, FreeContext> context_;
  Owned<N_Vector, FreeVector> state_, value_;
  Owned<SUNMatrix, FreeMatrix> matrix_;
  Owned<SUNLinearSolver, FreeSolver> solver_;
  std::unique_ptr<void, FreeIntegrator> memory_;
};

}  // namespace largo::training
