#include "largo/icl/threshold.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/core.h>

#include "icl/natural_units.hpp"
#include "largo/runtime/check.hpp"

namespace largo {
namespace {

constexpr double kResolution = 1e-9;  // relative, of trained risks and so of long lengths
constexpr double kFirstGuess = 64;
constexpr double kUnfinished = 1e-4;  // relative to epsilon: how far risks may still fall, so L is uncertain
// Risks have rounding errors of this size: at a tie the length is enough.
constexpr double kRiskRounding = 1e-13;

class Search {
 public:
  Search(RegressionProblem problem, double epsilon, double unit, InvariantPoint start,
         const ThresholdPlan& plan, const Execution& execution)
      : problem_(std::move(problem)),
        epsilon_(epsilon / unit * (1 + kRiskRounding)),
        given_(epsilon),
        unit_(unit),
        start_(std::move(start)),
        plan_(plan),
        execution_(execution) {
    result_.limit = train(std::numeric_limits<double>::infinity());
  }

  Threshold operator()() {
    if (excess(1) <= epsilon_) return finish(1, 0);
    bracket();
    while (high_ - low_ > std::max(1.0, kResolution * high_)) {
      const double L = next();
      (excess(L) <= epsilon_ ? high_ : low_) = L;
    }
    return finish(high_, low_);
  }

 private:
  double train(double L) {
    const RegressionFlow flow = regression_flow(problem_, plan_.attention, L, start_, plan_.flow, execution_);
    if (flow.flow.flat && flow.unfinished > kUnfinished * epsilon_) {
      fail(
          "threshold",
          fmt::format("where training ends at L = {:g} is not known: in directions in which tokens, tasks or "
                      "queries vary little it is too slow to be told from rounding, and the risk may still "
                      "fall by {:.2g}; take an epsilon of at least {:.2g}",
                      L, unit_ * flow.unfinished, unit_ * flow.unfinished / kUnfinished));
    }
    return flow.flow.last.value;
  }

  double excess(double L) {
    for (const TrainedRisk& done : result_.tried) {
      if (done.L == L) return done.risk - result_.limit;
    }
    const double risk = train(L);
    result_.tried.push_back({L, risk});
    if (plan_.trained) plan_.trained(L, risk);
    return risk - result_.limit;
  }

  // The excess falls about like 1/L: jump to where it should be ε, and a factor of two beyond.
  void bracket() {
    low_ = 1;
    high_ = kFirstGuess;
    double above = excess(high_);
    while (above > epsilon_) {
      low_ = high_;
      high_ = std::ceil(std::min(high_ * std::clamp(2 * above / epsilon_, 4.0, 1e4), kLongestThreshold));
      if (low_ >= kLongestThreshold) {
        fail("threshold", "epsilon", given_,
             fmt::format("reached by a prompt of at most {:g} tokens", kLongestThreshold));
      }
      above = excess(high_);
    }
  }

  // Where the line through both ends, in logarithms, meets ε, but well inside the bracket; every third time
  // it is the middle, so that the bracket shrinks from both sides.
  double next() {
    const double a = std::log(low_), b = std::log(high_);
    const double fa = std::log(excess(low_) / epsilon_),
                 fb = std::log(std::max(excess(high_), 1e-300) / epsilon_);
    const bool middle = ++rounds_ % 3 == 0;
    double x = middle ? (a + b) / 2 : a + (b - a) * fa / (fa - fb);
    // The secant may land on an end of the bracket, which would not shrink it: keep a margin.
    const double margin = middle ? 0.25 : 0.01;
    x = std::clamp(x, a + margin * (b - a), b - margin * (b - a));
    return std::clamp(std::round(std::exp(x)), low_ + 1, high_ - 1);
  }

  Threshold finish(double L, double before) {
    result_.L = L;
    result_.risk = excess(L) + result_.limit;
    result_.before = {before, before > 0 ? excess(before) + result_.limit : 0};
    return result_;
  }

  const RegressionProblem problem_;
  double epsilon_;  // in units of problem_
  double given_, unit_;
  const InvariantPoint start_;
  const ThresholdPlan& plan_;
  const Execution& execution_;
  Threshold result_;
  double low_ = 1, high_ = 1;
  int rounds_ = 0;
};

}  // namespace

// Searches in units in which the problem is of size one. The end of training does not depend on units, and
// its path is then the same for the same problem in all units.
Threshold threshold(const RegressionProblem& problem, double epsilon, const InvariantPoint& start,
                    const ThresholdPlan& plan, const Execution& execution) {
  check_positive("threshold", "epsilon", epsilon);
  check(problem);
  if (std::isfinite(plan.flow.end)) fail("threshold", "flow.end", plan.flow.end, "infinity");
  const icl::NaturalUnits units(problem);
  ThresholdPlan round = plan;
  if (plan.trained) round.trained = [&](double L, double risk) { plan.trained(L, units.risk() * risk); };
  Search search(units.round_problem(), epsilon, units.risk(), units.round_start(start), round, execution);
  Threshold found = search();
  for (double* risk : {&found.risk, &found.limit, &found.before.risk}) *risk *= units.risk();
  for (TrainedRisk& one : found.tried) one.risk *= units.risk();
  return found;
}

}  // namespace largo
