#include "largo/training/gradient_flow.hpp"

#include <cvode/cvode.h>
#include <nvector/nvector_serial.h>
#include <sunlinsol/sunlinsol_dense.h>
#include <sunlinsol/sunlinsol_spgmr.h>
#include <sunmatrix/sunmatrix_dense.h>

#include <algorithm>
#include <cmath>
#include <exception>
#include <memory>
#include <utility>

#include <fmt/core.h>

#include "largo/numerics/check.hpp"
#include "numerics/distribute.hpp"
#include "numerics/parallel.hpp"

namespace largo {
namespace {

constexpr const char* kName = "gradient_flow";
constexpr int kSettledSteps = 3;
constexpr double kFirstMove = 1e-4;   // of the parameters, in the first step
constexpr double kDifference = 1e-3;  // of a parameter, for Jacobians
constexpr int kMostFailures = 40;
constexpr int kKrylovVectors = 20;
constexpr double kSmallShare = 0.03;  // parameters below this share of a typical one are taken as so large
constexpr double kLeastScale = 1e-12;
constexpr double kGradientNoise = 4e-15;  // of the steepest gradient: rounding
constexpr double kFlatGradient = 1e-13;   // perhaps rounding

// SUNDIALS' objects, freed in the reverse order of their making.
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

Eigen::Map<Vector> values_of(N_Vector vector) {
  return {N_VGetArrayPointer(vector), static_cast<Eigen::Index>(N_VGetLength(vector))};
}

void demand(int flag, const char* what) {
  if (flag < 0) throw std::runtime_error(fmt::format("gradient_flow: {} failed ({})", what, flag));
}

template <typename Pointer>
Pointer made(Pointer pointer) {
  if (pointer == nullptr) throw std::bad_alloc();
  return pointer;
}

class Integrator {
 public:
  Integrator(const Risk& risk, const Vector& start, double slope_norm, const FlowPlan& plan,
             const Execution& execution)
      : risk_(risk), execution_(execution) {
    SUNContext context = nullptr;
    demand(SUNContext_Create(nullptr, &context), "SUNContext_Create");
    context_.reset(context);
    state_.reset(made(N_VNew_Serial(start.size(), context)));
    values_of(state_.get()) = start;
    derivative_.reset(made(N_VClone(state_.get())));
    const bool dense = plan.method == FlowMethod::dense;
    memory_.reset(made(CVodeCreate(CV_BDF, context)));
    demand(CVodeInit(memory_.get(), &Integrator::slope, 0, state_.get()), "CVodeInit");
    demand(CVodeSetUserData(memory_.get(), this), "CVodeSetUserData");
    // Silent: what goes wrong is said below, once.
    demand(CVodeSetErrHandlerFn(
               memory_.get(), [](int, const char*, const char*, char*, void*) {}, nullptr),
           "CVodeSetErrHandlerFn");
    demand(CVodeSStolerances(memory_.get(), plan.relative_tolerance, plan.absolute_tolerance),
           "CVodeSStolerances");
    if (dense) {
      matrix_.reset(made(SUNDenseMatrix(start.size(), start.size(), context)));
      solver_.reset(made(SUNLinSol_Dense(state_.get(), matrix_.get(), context)));
      demand(CVodeSetLinearSolver(memory_.get(), solver_.get(), matrix_.get()), "CVodeSetLinearSolver");
      demand(CVodeSetJacFn(memory_.get(), &Integrator::jacobian), "CVodeSetJacFn");
    } else {
      solver_.reset(made(SUNLinSol_SPGMR(state_.get(), SUN_PREC_NONE, kKrylovVectors, context)));
      demand(CVodeSetLinearSolver(memory_.get(), solver_.get(), nullptr), "CVodeSetLinearSolver");
    }
    // Its own first guess would depend on the end of time.
    const double first = kFirstMove * (1 + start.norm()) / slope_norm;
    demand(CVodeSetInitStep(memory_.get(), std::min(first, plan.end)), "CVodeSetInitStep");
    // A start next to zero needs a far smaller one.
    demand(CVodeSetMaxErrTestFails(memory_.get(), kMostFailures), "CVodeSetMaxErrTestFails");
    if (std::isfinite(plan.end)) demand(CVodeSetStopTime(memory_.get(), plan.end), "CVodeSetStopTime");
  }

  /// One step; its end.
  double step(double end) {
    double time = 0;
    failure_ = nullptr;
    const int flag = CVode(memory_.get(), std::isfinite(end) ? end : 1e300, state_.get(), &time, CV_ONE_STEP);
    if (flag < 0 && failure_) std::rethrow_exception(failure_);
    // Next to a time where the flow is infinite, steps become too short to move the clock.
    if (flag < 0 || !(time > time_)) {
      fail(kName, fmt::format("the integrator stops at t = {:.6g} ({}): the flow leaves every bound, or the "
                              "tolerances are below what the risk can give",
                              time, flag < 0 ? flag_name(flag) : "steps of no length"));
    }
    time_ = time;
    return time;
  }

  Vector parameters() const { return values_of(state_.get()); }

  /// The derivatives of the polynomial of the last step, at its end.
  Matrix derivatives(double time) {
    int order = 0;
    demand(CVodeGetLastOrder(memory_.get(), &order), "CVodeGetLastOrder");
    Matrix all(N_VGetLength(state_.get()), order + 1);
    for (int k = 0; k <= order; ++k) {
      demand(CVodeGetDky(memory_.get(), time, k, derivative_.get()), "CVodeGetDky");
      all.col(k) = values_of(derivative_.get());
    }
    return all;
  }

  std::int64_t evaluations() const { return evaluations_; }

 private:
  static std::string flag_name(int flag) {
    const std::unique_ptr<char, decltype(&std::free)> name(CVodeGetReturnFlagName(flag), &std::free);
    return name ? name.get() : "unknown";
  }

  // No exception may pass through CVODE: it is kept, and thrown again by step().
  static int slope(double /*time*/, N_Vector parameters, N_Vector slope, void* self_pointer) {
    auto& self = *static_cast<Integrator*>(self_pointer);
    try {
      check_stop(self.execution_);
      ++self.evaluations_;
      const Eigen::Map<Vector> here = values_of(parameters);
      if (!here.allFinite()) return 1;  // a smaller step, please
      values_of(slope) = -self.risk_.at(here).gradient;
      return 0;
    } catch (const InputError&) {  // outside the domain of the risk: perhaps a smaller step is inside
      self.failure_ = std::current_exception();
      return 1;
    } catch (...) {
      self.failure_ = std::current_exception();
      return -1;
    }
  }

  // Of -∇R: symmetric, by differences of fourth order. CVODE's own are one-sided, over 1e-8 of a parameter:
  // their noise hides the slow directions of a valley, and Newton's method then allows short steps only.
  static int jacobian(double /*time*/, N_Vector parameters, N_Vector /*slope*/, SUNMatrix matrix,
                      void* self_pointer, N_Vector, N_Vector, N_Vector) {
    auto& self = *static_cast<Integrator*>(self_pointer);
    try {
      const Vector here = values_of(parameters);
      const Eigen::Index n = here.size();
      const double typical = here.norm() / std::sqrt(static_cast<double>(n));
      Matrix columns(n, n);
      parallel_for(n, self.execution_, [&](std::ptrdiff_t j) {
        check_stop(self.execution_);
        const double h = kDifference * std::max({std::abs(here[j]), kSmallShare * typical, kLeastScale});
        const auto gradient = [&](double move) {
          Vector moved = here;
          moved[j] += move;
          return self.risk_.at(moved).gradient;
        };
        columns.col(j) = (gradient(2 * h) - gradient(-2 * h) - 8 * (gradient(h) - gradient(-h))) / (12 * h);
      });
      self.evaluations_ += 4 * n;
      for (Eigen::Index j = 0; j < n; ++j) {
        for (Eigen::Index i = 0; i < n; ++i) {
          SM_ELEMENT_D(matrix, i, j) = 0.5 * (columns(i, j) + columns(j, i));
        }
      }
      return 0;
    } catch (const InputError&) {
      self.failure_ = std::current_exception();
      return 1;
    } catch (...) {
      self.failure_ = std::current_exception();
      return -1;
    }
  }

  const Risk& risk_;
  const Execution& execution_;
  std::exception_ptr failure_;
  std::int64_t evaluations_ = 0;
  double time_ = 0;
  Owned<SUNContext, FreeContext> context_;
  Owned<N_Vector, FreeVector> state_, derivative_;
  Owned<SUNMatrix, FreeMatrix> matrix_;
  Owned<SUNLinearSolver, FreeSolver> solver_;
  std::unique_ptr<void, FreeIntegrator> memory_;
};

void check(const Risk& risk, const ConstVectorRef& start, const FlowPlan& plan) {
  check_size(kName, "start", start.size(), risk.size());
  check_finite(kName, "start", start);
  check_positive(kName, "relative_tolerance", plan.relative_tolerance);
  check_positive(kName, "absolute_tolerance", plan.absolute_tolerance);
  check_positive(kName, "stationary_tolerance", plan.stationary_tolerance);
  if (!(plan.end > 0)) fail(kName, "end", plan.end, "a time after 0, or infinity");
  if (plan.most_steps < 1) fail(kName, "most_steps", static_cast<double>(plan.most_steps), "at least 1");
}

// |g| over its rate of decay between two points.
double way_to_go(const TrajectoryPoint& before, const TrajectoryPoint& now) {
  if (now.gradient_norm == 0) return 0;
  const double rate = std::log(before.gradient_norm / now.gradient_norm) / (now.time - before.time);
  return rate > 0 ? now.gradient_norm / rate : std::numeric_limits<double>::infinity();
}

// A gradient that turns from step to step without becoming smaller is rounding, however large its terms are.
bool is_noise(const Vector& before, const Vector& now) {
  return now.norm() >= 0.5 * before.norm() && (now - before).norm() >= 0.5 * before.norm();
}

}  // namespace

FlowResult gradient_flow(const Risk& risk, const ConstVectorRef& start, const FlowPlan& plan,
                         const Execution& execution) {
  check(risk, start, plan);
  FlowResult result;
  result.last = risk.at(start);
  result.drift.assign(plan.conserved.size(), 0);
  std::vector<double> first;
  for (const ConservedQuantity& quantity : plan.conserved) first.push_back(quantity.value(start));
  result.trajectory.add({0, start, result.last.value, result.last.gradient.norm()}, start);
  if (result.last.gradient.isZero(0)) {
    result.stationary = true;
    return result;
  }
  Integrator integrator(risk, start, result.last.gradient.norm(), plan, execution);
  const bool to_the_end = std::isinf(plan.end);
  int settled = 0;
  double time = 0, steepest = result.last.gradient.norm();
  for (std::int64_t step = 0; step < plan.most_steps && time < plan.end; ++step) {
    time = integrator.step(plan.end);
    const Vector here = integrator.parameters(), before = result.last.gradient;
    result.last = risk.at(here);
    TrajectoryPoint point{time, here, result.last.value, result.last.gradient.norm()};
    const double norm = point.gradient_norm;
    steepest = std::max(steepest, norm);
    const bool small = norm <= kStationaryGradient * steepest,
               noise = small && is_noise(before, result.last.gradient);
    if (!noise) result.to_go = way_to_go(result.trajectory.points().back(), point);
    result.trajectory.add(std::move(point), integrator.derivatives(time));
    for (std::size_t i = 0; i < plan.conserved.size(); ++i) {
      result.drift[i] = std::max(result.drift[i], std::abs(plan.conserved[i].value(here) - first[i]));
    }
    if (plan.progress) plan.progress(time, norm);
    const double near = plan.stationary_tolerance * (1 + here.norm());
    const bool still = noise || norm <= kGradientNoise * steepest || (small && result.to_go <= near) ||
                       (norm <= kFlatGradient * steepest && norm * time <= near);
    settled = still ? settled + 1 : 0;
    if (settled >= kSettledSteps) {
      result.stationary = true;
      // Nothing moves any more: the rest of the time needs no steps.
      if (!to_the_end && time < plan.end) {
        time = plan.end;
        result.trajectory.add({time, here, result.last.value, norm}, here);
      }
      break;
    }
  }
  result.evaluations =
      integrator.evaluations() + static_cast<std::int64_t>(result.trajectory.points().size());
  if (to_the_end && !result.stationary) {
    fail(kName, fmt::format("not stationary after {} steps, at t = {:.4g} (|gradient| = {:.2g}): give an end "
                            "in time, or more steps",
                            plan.most_steps, time, result.last.gradient.norm()));
  }
  if (time < plan.end && !to_the_end) {
    fail(kName, fmt::format("t = {:.6g} of {:.6g} after {} steps: allow more, or larger tolerances", time,
                            plan.end, plan.most_steps));
  }
  return result;
}

}  // namespace largo
