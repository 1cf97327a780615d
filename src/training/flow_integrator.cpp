#include "training/flow_integrator.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include <fmt/core.h>
#include <sunlinsol/sunlinsol_spgmr.h>

#include "largo/runtime/check.hpp"
#include "runtime/distribute.hpp"
#include "runtime/parallel.hpp"

namespace largo::training {
namespace {

constexpr const char* kFlowIntegrator = "gradient_flow";
constexpr double kFirstMove = 1e-4;   // first step, relative to the sizes of the parameters
constexpr double kDifference = 1e-3;  // step of the differences for Jacobians, relative to a parameter
constexpr int kMostFailures = 40;
constexpr int kKrylovVectors = 20;
constexpr double kSmallShare = 0.03;    // a parameter counts as at least this share of its size
constexpr double kUnknownShare = 1e-6;  // the same while the sizes are guesses
constexpr double kMoved = 0.01;

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

std::string flag_name(int flag) {
  const std::unique_ptr<char, decltype(&std::free)> name(CVodeGetReturnFlagName(flag), &std::free);
  return name ? name.get() : "unknown";
}

}  // namespace

RiskPoint finite_risk(const Risk& risk, const ConstVectorRef& parameters) {
  RiskPoint point = risk.at(parameters);
  if (!std::isfinite(point.value) || !point.gradient.allFinite()) {
    fail(kFlowIntegrator, fmt::format("the risk or its gradient is not finite where |parameters| = {:.3g}",
                                      norm_of(parameters)));
  }
  return point;
}

FlowIntegrator::FlowIntegrator(const Risk& risk, const Vector& start, const RiskPoint& first,
                               const FlowPlan& plan, const Execution& execution)
    : risk_(risk),
      execution_(execution),
      end_(plan.end),
      relative_tolerance_(plan.relative_tolerance),
      absolute_tolerance_(plan.absolute_tolerance),
      sizes_(first) {
  const bool dense = plan.method == FlowMethod::dense;
  if (dense) compute_hessian(start);
  SUNContext context = nullptr;
  demand(SUNContext_Create(nullptr, &context), "SUNContext_Create");
  context_.reset(context);
  state_.reset(made(N_VNew_Serial(start.size(), context)));
  values_of(state_.get()) = start;
  value_.reset(made(N_VClone(state_.get())));
  memory_.reset(made(CVodeCreate(CV_BDF, context)));
  demand(CVodeInit(memory_.get(), &FlowIntegrator::slope, 0, state_.get()), "CVodeInit");
  demand(CVodeSetUserData(memory_.get(), this), "CVodeSetUserData");
  // CVODE prints nothing: step() reports errors, once.
  demand(CVodeSetErrHandlerFn(
             memory_.get(), [](int, const char*, const char*, char*, void*) {}, nullptr),
         "CVodeSetErrHandlerFn");
  demand(CVodeWFtolerances(memory_.get(), &FlowIntegrator::weights), "CVodeWFtolerances");
  if (dense) {
    matrix_.reset(made(SUNDenseMatrix(start.size(), start.size(), context)));
    solver_.reset(made(SUNLinSol_Dense(state_.get(), matrix_.get(), context)));
    demand(CVodeSetLinearSolver(memory_.get(), solver_.get(), matrix_.get()), "CVodeSetLinearSolver");
    demand(CVodeSetJacFn(memory_.get(), &FlowIntegrator::jacobian), "CVodeSetJacFn");
  } else {
    solver_.reset(made(SUNLinSol_SPGMR(state_.get(), SUN_PREC_NONE, kKrylovVectors, context)));
    demand(CVodeSetLinearSolver(memory_.get(), solver_.get(), nullptr), "CVodeSetLinearSolver");
  }
  // CVODE's own first guess would depend on the end time.
  const Vector sizes = sizes_.at(start);
  const double pace = first.gradient.cwiseAbs().cwiseQuotient(sizes.cwiseMax(start.cwiseAbs())).maxCoeff();
  demand(CVodeSetInitStep(memory_.get(), std::min(kFirstMove / pace, plan.end)), "CVodeSetInitStep");
  // A start near zero needs a far smaller first step.
  demand(CVodeSetMaxErrTestFails(memory_.get(), kMostFailures), "CVodeSetMaxErrTestFails");
  if (std::isfinite(plan.end)) demand(CVodeSetStopTime(memory_.get(), plan.end), "CVodeSetStopTime");
}

double FlowIntegrator::step() {
  double time = 0;
  failure_ = nullptr;
  const double towards = std::isfinite(end_) ? end_ : std::numeric_limits<double>::max();
  const int flag = CVode(memory_.get(), towards, state_.get(), &time, CV_ONE_STEP);
  if (flag < 0 && failure_) std::rethrow_exception(failure_);
  if (flag == CV_ILL_INPUT && time_ == 0) {
    fail(kFlowIntegrator,
         fmt::format("the flow cannot begin: no step from a start with |gradient| = {:.3g} towards t = "
                     "{:.3g} is a number; take another end in time, or another start",
                     norm_of(finite_risk(risk_, parameters()).gradient), end_));
  }
  // Near a time at which the flow is infinite, steps become too short to advance the clock.
  if (flag < 0 || !(time > time_)) {
    fail(kFlowIntegrator,
         fmt::format("the integrator stops at t = {:.6g}, |parameters| = {:.3g} ({}): the flow leaves "
                     "every bound, or the tolerances are below what the risk can give",
                     time, norm_of(parameters()), flag < 0 ? flag_name(flag) : "steps of no length"));
  }
  time_ = time;
  return time;
}

Vector FlowIntegrator::parameters() const { return values_of(state_.get()); }

Matrix FlowIntegrator::values_on_step() const {
  int order = 0;
  double length = 0;
  demand(CVodeGetLastOrder(memory_.get(), &order), "CVodeGetLastOrder");
  demand(CVodeGetLastStep(memory_.get(), &length), "CVodeGetLastStep");
  Matrix values(N_VGetLength(state_.get()), order + 1);
  for (int i = 0; i < order; ++i) {
    const double at = time_ - length * (static_cast<double>(order - i) / order);
    demand(CVodeGetDky(memory_.get(), at, 0, value_.get()), "CVodeGetDky");
    values.col(i) = values_of(value_.get());
  }
  values.col(order) = values_of(state_.get());
  return values;
}

const Matrix& FlowIntegrator::hessian_near(const Vector& parameters) {
  const Vector moved = (parameters - hessian_at_).cwiseAbs();
  if ((moved.array() > kMoved * sizes_.at(parameters).array()).any()) compute_hessian(parameters);
  return hessian_;
}

// No exception may pass through CVODE: it is kept, and step() rethrows it. Outside the domain of the risk, a
// smaller step may be inside.
int FlowIntegrator::guarded(const std::function<void()>& work) {
  try {
    runtime::check_stop(execution_);
    work();
    return 0;
  } catch (const InputError&) {
    failure_ = std::current_exception();
    return 1;
  } catch (...) {
    failure_ = std::current_exception();
    return -1;
  }
}

int FlowIntegrator::slope(double /*time*/, N_Vector parameters, N_Vector slope, void* self_pointer) {
  auto& self = *static_cast<FlowIntegrator*>(self_pointer);
  const Eigen::Map<Vector> here = values_of(parameters);
  if (!here.allFinite()) return 1;  // asks for a smaller step
  return self.guarded([&] {
    ++self.evaluations_;
    values_of(slope) = -finite_risk(self.risk_, here).gradient;
  });
}

int FlowIntegrator::weights(N_Vector parameters, N_Vector weights, void* self_pointer) {
  const auto& self = *static_cast<FlowIntegrator*>(self_pointer);
  const Vector here = values_of(parameters);
  const Vector allowed =
      self.relative_tolerance_ * here.cwiseAbs() + self.absolute_tolerance_ * self.sizes_.at(here);
  values_of(weights) = allowed.cwiseInverse();
  return values_of(weights).allFinite() ? 0 : -1;
}

int FlowIntegrator::jacobian(double /*time*/, N_Vector parameters, N_Vector /*slope*/, SUNMatrix matrix,
                             void* self_pointer, N_Vector, N_Vector, N_Vector) {
  auto& self = *static_cast<FlowIntegrator*>(self_pointer);
  return self.guarded([&] {
    const Vector here = values_of(parameters);
    if (here != self.hessian_at_) self.compute_hessian(here);
    for (Eigen::Index j = 0; j < here.size(); ++j) {
      for (Eigen::Index i = 0; i < here.size(); ++i) SM_ELEMENT_D(matrix, i, j) = -self.hessian_(i, j);
    }
  });
}

// Takes differences of fourth order. CVODE's own are one-sided, over 1e-8 of a parameter: their noise hides
// the slow directions of a valley, and Newton's method then allows only short steps.
void FlowIntegrator::compute_hessian(const Vector& here) {
  const Eigen::Index n = here.size();
  const Vector sizes = sizes_.at(here);
  const double share = sizes_.has_curvature() ? kSmallShare : kUnknownShare;
  Matrix columns(n, n);
  runtime::parallel_for(n, execution_, [&](std::ptrdiff_t j) {
    runtime::check_stop(execution_);
    const double h = kDifference * std::max(std::abs(here[j]), share * sizes[j]);
    const auto gradient = [&](double move) {
      Vector moved = here;
      moved[j] += move;
      return finite_risk(risk_, moved).gradient;
    };
    columns.col(j) = (8 * (gradient(h) - gradient(-h)) - (gradient(2 * h) - gradient(-2 * h))) / (12 * h);
  });
  evaluations_ += 4 * n;
  hessian_ = 0.5 * (columns + columns.transpose());
  hessian_at_ = here;
  sizes_.set_curvature(hessian_.diagonal());
}

double norm_of(const Vector& values) {
  const double norm = values.norm();
  return norm > 1e-140 && norm < 1e150 ? norm : values.stableNorm();
}

NaturalSizes::NaturalSizes(const RiskPoint& start) {
  const double way = std::abs(start.value) / norm_of(start.gradient);
  fallback_ = way > 0 && std::isfinite(way) ? way : 1;
}

Vector NaturalSizes::at(const Vector& parameters) const { return at(parameters, 0, 0); }

double NaturalSizes::risk_at(const Vector& parameters) const {
  if (!has_curvature()) return 0;
  const Vector sizes = parameters.cwiseAbs();
  return sizes.cwiseProduct(sizes.cwiseProduct(curvature_)).maxCoeff();  // in an order that cannot overflow
}

Vector NaturalSizes::at(const Vector& parameters, double risk, double largest) const {
  const double most = std::max(parameters.cwiseAbs().maxCoeff(), largest);
  if (most == 0) return Vector::Constant(parameters.size(), fallback_);
  if (!has_curvature()) {
    const double typical = norm_of(parameters) / std::sqrt(static_cast<double>(parameters.size()));
    return Vector::Constant(parameters.size(), typical);
  }
  const double share = std::max(risk_at(parameters), risk);
  if (share == 0) return Vector::Constant(parameters.size(), most);
  return Vector((share / curvature_.array()).sqrt().min(most).max(parameters.array().abs()));
}

}  // namespace largo::training
