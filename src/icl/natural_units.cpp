#include "icl/natural_units.hpp"

#include <cmath>
#include <utility>

#include <fmt/core.h>

#include "icl/risk_statistics.hpp"
#include "largo/runtime/check.hpp"
#include "numerics/factor.hpp"

namespace largo::icl {
namespace {

// The power of two of the size of the number; 1 for zero.
double unit_of(double value) {
  return value == 0 || !std::isfinite(value) ? 1 : std::ldexp(1, std::ilogb(value));
}

// The power of two whose square is closest to the size of the covariance.
double unit_of(const Matrix& covariance) {
  const double size = covariance.cwiseAbs().maxCoeff();
  if (!(size > 0) || !std::isfinite(size)) return 1;
  const int exponent = std::ilogb(size) + 1;
  return std::ldexp(1, exponent >= 0 ? exponent / 2 : -((1 - exponent) / 2));
}

class RiskInUnits final : public Risk {
 public:
  RiskInUnits(std::shared_ptr<const Risk> risk, const NaturalUnits& units)
      : risk_(std::move(risk)), parameters_(units.parameters()), value_(units.risk()) {}
  Eigen::Index size() const override { return risk_->size(); }
  RiskPoint at(const ConstVectorRef& parameters) const override {
    RiskPoint point = risk_->at(parameters / parameters_);
    point.value *= value_;
    point.error *= value_;
    point.gradient *= value_ / parameters_;
    check_risk("invariant_risk", point);
    return point;
  }

 private:
  std::shared_ptr<const Risk> risk_;
  double parameters_, value_;
};

void check_range(const char* what, double value, bool inside) {
  if (inside) return;
  fail("regression_flow", what, value,
       "in the range of doubles, also in units in which the covariances are of size one: give the data in "
       "other units");
}

}  // namespace

NaturalUnits::NaturalUnits(const RegressionProblem& problem)
    : token_(unit_of(problem.covariance)),
      query_(unit_of(problem.query_covariance)),
      task_(unit_of(problem.prior_covariance)),
      score_(unit_of(problem.score_scale)),
      largest_alpha_(largest_admissible_alpha(problem)),
      problem_{problem.covariance / token_ / token_,
               problem.query_covariance / query_ / query_,
               problem.prior_covariance / task_ / task_,
               problem.noise_variance / (token_ * task_) / (token_ * task_),
               problem.score_scale * query_ * query_,
               problem.sink} {
  check_range("noise", problem.noise_variance, std::isfinite(problem_.noise_variance));
  check_range(
      "score_scale", problem.score_scale,
      std::isfinite(problem_.score_scale) && (problem_.score_scale == 0) == (problem.score_scale == 0));
}

RegressionProblem NaturalUnits::round_problem() const {
  RegressionProblem round = problem_;
  round.score_scale = problem_.score_scale / query_ / query_ / score_;
  return round;
}

InvariantPoint NaturalUnits::round_start(const InvariantPoint& start) const {
  const double share = largest_admissible_alpha(round_problem()) / largest_alpha_;
  if (!(share > 0) || !std::isfinite(share)) return start;  // every start is admissible
  return {share * start.A, share * start.b};
}

FlowPlan NaturalUnits::to_natural(const FlowPlan& plan) const {
  FlowPlan natural = plan;
  natural.end = plan.end / time();
  check_range("end", plan.end, natural.end > 0 && std::isinf(natural.end) == std::isinf(plan.end));
  natural.risk_scale = plan.risk_scale / risk();
  for (ConservedQuantity& quantity : natural.conserved) {
    quantity.value = [value = quantity.value, unit = parameters()](const Vector& here) {
      return value(unit * here);
    };
  }
  if (plan.progress) {
    natural.progress = [show = plan.progress, unit = time(), slope = risk() / parameters()](
                           double time, double norm) { show(unit * time, slope * norm); };
  }
  return natural;
}

FlowResult NaturalUnits::to_given(const FlowResult& flow) const {
  FlowResult given = flow;
  given.trajectory = {};
  const std::vector<TrajectoryPoint>& points = flow.trajectory.points();
  for (std::size_t i = 0; i < points.size(); ++i) {
    const TrajectoryPoint point{points[i].time * time(), points[i].parameters * parameters(),
                                points[i].risk * risk(), points[i].gradient_norm * (risk() / parameters())};
    const bool inside = std::isfinite(point.time) && (i == 0 || point.time > given.trajectory.end()) &&
                        point.parameters.allFinite() && std::isfinite(point.risk) &&
                        std::isfinite(point.gradient_norm);
    check_range("time of the flow", point.time, inside);
    given.trajectory.add(point, flow.trajectory.values()[i] * parameters());
  }
  given.last.value *= risk();
  given.last.error *= risk();
  given.last.gradient *= risk() / parameters();
  if (given.to_go) *given.to_go *= parameters();
  return given;
}

std::shared_ptr<const Risk> in_given_units(std::shared_ptr<const Risk> risk, const NaturalUnits& units) {
  return std::make_shared<RiskInUnits>(std::move(risk), units);
}

}  // namespace largo::icl
