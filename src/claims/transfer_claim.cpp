// The claim about the transfer of training from infinite to finite prompts.
#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "claims/claims.hpp"
#include "claims/trained_regression.hpp"
#include "largo/icl/invariant_risk.hpp"
#include "largo/icl/regression_flow.hpp"

namespace largo::claims {
namespace {

constexpr double kTransferHorizon = 5;
// Thresholds of the verdict: for a trained risk over that at the length before; for what is left at the
// longest L of the distance at the shortest; for linear attention, whose risk has a minimum in closed form,
// in the risk and in the parameters, which the risk determines to half as many digits.
constexpr double kMostRiskRatio = 1, kMostDistanceLeft = 0.1, kClosedTolerance = 1e-6, kPointTolerance = 1e-3;
constexpr double kControlLength = 1e3;  // of the negative control's limit

struct TransferProblem {
  const char* name;
  RegressionProblem problem;
  std::vector<double> lengths;
  double tolerance;  // of the flows
};

std::vector<TransferProblem> transfer_problems(const ClaimOptions& options) {
  const TransferProblem round{"Σ = I, d = 5, no noise", round_problem(), {1e1, 1e2, 1e4, 1e7}, 1e-9};
  if (options.control == 1) return {round};
  if (options.control == 2) return {{round.name, round.problem, {1e4, 1e2, 1e1}, round.tolerance}};
  if (options.quick) {
    return {round,
            {"Σ = diag(2, 1/2), noise 1/4", diagonal_problem(Vector{{2, 0.5}}, 0.25), {1e1, 1e3, 1e6}, 1e-5}};
  }
  return {{"Σ = I, d = 5, no noise", round_problem(), {1e1, 3e1, 1e2, 3e2, 1e3, 1e4, 1e5, 1e7}, 1e-9},
          {"Σ = I, d = 10, noise 1", diagonal_problem(Vector::Ones(10), 1), {1e1, 1e2, 1e3, 1e4, 1e7}, 1e-9},
          {"Σ = diag(2, 1/2), noise 1/4",
           diagonal_problem(Vector{{2, 0.5}}, 0.25),
           {1e1, 1e2, 1e3, 1e4, 1e6},
           1e-5}};
}

class Transfer {
 public:
  explicit Transfer(const ClaimOptions& options) : options_(options) {}

  void add(const TransferProblem& given, AttentionKind attention) {
    const RegressionProblem& problem = given.problem;
    const InvariantPoint start = usual_start(problem);
    RegressionProblem of_limit = problem;
    if (options_.control == 1) of_limit.covariance *= 2;
    const RegressionFlow limit = regression_flow(of_limit, AttentionKind::softmax,
                                                 options_.control == 2 ? kControlLength : kInfinity, start);
    limit_risk = larger(limit_risk, limit.flow.last.value / problem.null_risk());
    const bool softmax = attention == AttentionKind::softmax;
    const double constant = softmax ? trained_constant(problem) : trained_linear_constant(problem);
    const int color = static_cast<int>(risks.curves.size());
    Curve ratio{.label = fmt::format("{}, {}", given.name, name_of(attention)), .color = color},
        distance{.label = ratio.label, .color = color};
    struct Trained {
      double risk = 0;
      InvariantPoint end;
      FlowDistance from_limit;
    };
    const auto train = [&](double L, const Execution& execution) {
      const RegressionFlow flow = regression_flow(
          problem, attention, L, start, {.relative_tolerance = softmax ? given.tolerance : 1e-9}, execution);
      return Trained{flow.flow.last.value, flow.last, flow_distance(problem, flow, limit, kTransferHorizon)};
    };
    const std::vector<Trained> trained = side_by_side(given.lengths, options_.execution, train);
    double before = kInfinity, predictions = kInfinity;
    for (std::size_t i = 0; i < trained.size(); ++i) {
      const double L = given.lengths[i], end = trained[i].risk;
      const FlowDistance& from_limit = trained[i].from_limit;
      table.rows.push_back({given.name, name_of(attention), L, end, L * end / constant,
                            from_limit.parameters.value, from_limit.predictions.value,
                            from_limit.gradients.value});
      if (i > 0) risk_ratio = larger(risk_ratio, end / before);
      falls = falls && from_limit.predictions.value < predictions;
      before = end;
      predictions = from_limit.predictions.value;
      ratio.add(L, L * end / constant);
      distance.add(L, from_limit.parameters.value);
      if (softmax) continue;
      const InvariantPoint best = best_linear(problem, options_.control == 2 ? 2 * L : L);
      const Vector closed = parameters_of(best);
      const double least = invariant_risk(problem, attention, L)->at(closed).value;
      off_minimum = larger(off_minimum, std::abs(end / least - 1));
      off_point = larger(off_point, (parameters_of(trained[i].end) - closed).norm() / closed.norm());
    }
    off_constant = larger(off_constant, std::abs(ratio.y.back() - 1));
    distance_left = larger(distance_left, distance.y.back() / distance.y.front());
    risks.curves.push_back(std::move(ratio));
    distances.curves.push_back(std::move(distance));
  }

  void add_limit_line() {
    Curve one{.style = Curve::Style::dashed, .color = 7};
    one.x = {risks.curves.front().x.front(), risks.curves.front().x.back()};
    one.y = {1, 1};
    risks.curves.push_back(std::move(one));
  }

  report::ReportTable table{
      "Risk R at the end of training; and the largest differences up to t = 5 from the flow of the infinite "
      "prompt: of the parameters, of the predictions that both heads make on the infinite prompt (root mean "
      "square), and of the gradients of both risks along that flow.",
      {"problem", "attention", "L", "trained risk", "L R/C", "parameters", "predictions on infinite prompts",
       "gradients"}};
  Panel risks{.title = "risk at the end of training",
              .x_label = "prompt length L",
              .y_label = "L R/C",
              .log_y = false};
  Panel distances{.title = "supremum up to t = 5",
                  .x_label = "prompt length L",
                  .y_label = "distance of (A, b) from the limit flow"};
  bool falls = true;
  double limit_risk = 0, risk_ratio = 0, distance_left = 0, off_constant = 0, off_minimum = 0, off_point = 0;

 private:
  const ClaimOptions& options_;
};

}  // namespace

report::ReportSection transfer_claim(const ClaimOptions& options) {
  Transfer found(options);
  for (const TransferProblem& problem : transfer_problems(options)) {
    for (const AttentionKind attention : {AttentionKind::softmax, AttentionKind::linear}) {
      found.add(problem, attention);
    }
  }
  found.add_limit_line();
  report::ReportSection claim{
      .computed =
          "Gradient flow on the exact risk of softmax and linear attention from the paper's start (α half of "
          "the largest in its interval, Θ a multiple of I), with label noise and without, at the "
          "lengths of the table. The flow of the infinite prompt ends with risk R* = 0 for all of them: the "
          "target has no noise, and an infinite prompt averages out that of its labels. That the risk falls "
          "from each length of the table to the next is checked: a length that is enough for some ε is "
          "enough at all longer ones of the table. Lengths between them were not computed. Other Θ and α "
          "were not computed at finite L. C is the constant of L(ε) for softmax attention (docs/icl.md has "
          "it for any Σ and noise), and ½ (tr Σ + (tr Σ + τ²) d) for linear attention. Linear attention is "
          "compared with its minimum in closed form, of the risk and of the parameters: like the flow of the "
          "infinite prompt it keeps ‖A‖² − b², which is zero at the start, so that of all minima it reaches "
          "the one with ‖A‖ = b."};
  if (!options.quick) {
    claim.computed +=
        " Paths come closer as L grows, though not at every step: the parameters of d = 5 are farther from "
        "the limit flow at L = 300 than at 30, while the predictions are closer.";
  }
  claim.numbers = {
      {"largest risk at the end of the limit flow, relative to that of predicting zero", found.limit_risk,
       kClosedTolerance},
      {"largest risk after training over that at the length before", found.risk_ratio, kMostRiskRatio},
      {"largest |L R/C − 1| at the longest L", found.off_constant, kRatioTolerance},
      {"largest difference of a trained linear risk from its minimum in closed form, relative",
       found.off_minimum, kClosedTolerance},
      {"largest distance of the end of linear training from that minimum, relative", found.off_point,
       kPointTolerance},
      {"largest distance of the parameters at the longest L over that at L = 10", found.distance_left,
       kMostDistanceLeft}};
  claim.tables = {found.table};
  claim.figures = {{"transfer",
                    {{found.risks, found.distances},
                     "Training at finite L: risk R at its end, beside the constant C of long prompts, and "
                     "distance of its path from that of the infinite prompt."}}};
  return decided(std::move(claim), {{found.falls, "the distance of the predictions falls with every L",
                                     "the distance of the predictions does not fall with every L"}});
}

}  // namespace largo::claims
