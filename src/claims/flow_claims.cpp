// The claims about the end of training on the exact risk: how long prompts must be, softmax beside linear
// attention, and prompts of random length.
#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "claims/claims.hpp"
#include "claims/trained_regression.hpp"
#include "largo/exact/length_law.hpp"
#include "largo/icl/invariant_risk.hpp"
#include "largo/icl/regression_flow.hpp"
#include "largo/icl/threshold.hpp"
#include "report/report.hpp"

namespace largo::claims {

report::ReportSection threshold_claim(const ClaimOptions& options) {
  const RegressionProblem problem = round_problem();
  const InvariantPoint start = usual_start(problem);
  const double constant = options.control == 1 ? trained_linear_constant(problem) : trained_constant(problem);
  report::ReportTable table{
      "L(ε), the risk after training at that length, and what is left to ε there and with a token less: "
      "positive where the prompt is long enough, negative where it is not.",
      {"ε", "L(ε)", "risk there", "ε − risk", "ε − risk with a token less", "ε L(ε)"}};
  Curve found{.label = "L(ε)", .style = Curve::Style::points},
      asymptote{.label = fmt::format("{:.2f}/ε", constant), .style = Curve::Style::dashed, .color = 7};
  bool holds = true;
  double last = 0;
  const std::vector<double> tolerances = options.quick || options.control
                                             ? std::vector{1e-1, 1e-2, 1e-3}
                                             : std::vector{1., 1e-1, 1e-2, 1e-3, 1e-4, 1e-5};
  const auto thresholds =
      side_by_side(tolerances, options.execution, [&](double epsilon, const Execution& execution) {
        return threshold(problem, epsilon, start, {}, execution);
      });
  for (std::size_t i = 0; i < tolerances.size(); ++i) {
    const double epsilon = tolerances[i], asked = options.control == 2 ? 0.99 * epsilon : epsilon;
    const Threshold& at = thresholds[i];
    holds = holds && at.risk <= at.limit + asked && (at.L == 1 || at.before.risk > at.limit + asked);
    // Differences are shown, since the risks themselves agree in all digits that a table has.
    const double most = at.limit + epsilon;
    std::vector<report::ReportCell>& row = table.rows.emplace_back();
    row = {epsilon, at.L, at.risk, most - at.risk, most - at.before.risk, epsilon * at.L};
    if (at.L == 1) row[4] = {};  // a single token cannot be removed
    last = epsilon * at.L;
    found.add(epsilon, at.L);
    asymptote.add(epsilon, constant / epsilon);
  }
  report::ReportSection claim{.computed =
                                  "d = 5, Σ = I, no noise, from the paper's start: bracketing on the exact "
                                  "trained risk, which assumes that this risk falls with L, and training at "
                                  "the L found and at L − 1."};
  claim.numbers = {{"|ε L(ε) / C − 1| at the smallest ε", std::abs(last / constant - 1), kRatioTolerance}};
  claim.tables = {table};
  claim.figures = {{"threshold",
                    {{{.x_label = "ε", .y_label = "prompt length L(ε)", .curves = {found, asymptote}}},
                     "The prompt length that training needs to come within ε of the infinite prompt."}}};
  return decided(std::move(claim), {{holds, "every L(ε) is enough, and a token less is not",
                                     "some L(ε) is not enough, or too long"}});
}

report::ReportSection risk_ratio_claim(const ClaimOptions& options) {
  const RegressionProblem problem = round_problem();
  const InvariantPoint start = usual_start(problem);
  const double limit = trained_constant(problem) / trained_linear_constant(problem);
  report::ReportTable table{"Risks at L of the softmax head trained at L, and of the best linear head there.",
                            {"L", "softmax", "linear", "ratio"}};
  Curve softmax{.label = "softmax"}, linear{.label = "linear", .color = 1},
      ratio{.label = "ratio", .color = 2},
      asymptote{.label = fmt::format("limit {:.2f}", limit), .style = Curve::Style::dashed, .color = 7};
  bool larger = true;
  double last = 0;
  const std::vector<double> lengths = log_spaced_lengths(10, 1e6, options.quick || options.control ? 6 : 11);
  const auto risks = side_by_side(lengths, options.execution, [&](double L, const Execution& execution) {
    return regression_flow(problem, AttentionKind::softmax, L, start, {}, execution).flow.last.value;
  });
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    const double L = lengths[i], of_softmax = risks[i];
    const double linear_L = options.control == 1 ? 2 * L : L;
    const Vector best = parameters_of(best_linear(problem, linear_L));
    const double of_linear = invariant_risk(problem, AttentionKind::linear, linear_L)->at(best).value;
    last = options.control == 2 ? of_linear / of_softmax : of_softmax / of_linear;
    larger = larger && last > 1;
    table.rows.push_back({L, of_softmax, of_linear, last});
    softmax.add(L, of_softmax);
    linear.add(L, of_linear);
    ratio.add(L, last);
    asymptote.add(L, limit);
  }
  report::ReportSection claim{.computed =
                                  "d = 5, Σ = I, no noise, at the lengths of the table: gradient flow on the "
                                  "exact softmax risk from the paper's start to its end, and the minimum of "
                                  "the linear risk in closed form. Other problems were not computed here."};
  claim.numbers = {{"|ratio / limit − 1| at the largest L", std::abs(last / limit - 1), kRatioTolerance}};
  claim.tables = {table};
  claim.figures = {{"risk-ratio",
                    {{{.title = "risk after training",
                       .x_label = "prompt length L",
                       .y_label = "risk",
                       .curves = {softmax, linear}},
                      {.title = "softmax over linear",
                       .x_label = "prompt length L",
                       .y_label = "ratio",
                       .log_y = false,
                       .curves = {ratio, asymptote}}},
                     "Trained softmax and linear attention at the same prompt length."}}};
  return decided(std::move(claim), {{larger, "the ratio is above 1 at every length",
                                     "the ratio is not above 1 at some length"}});
}

report::ReportSection random_lengths_claim(const ClaimOptions& options) {
  const LengthLaw law = options.control == 2 ? LengthLaw::uniform(32, 32) : LengthLaw::uniform(1, 64);
  const RegressionProblem problem = round_problem();
  const InvariantPoint start = usual_start(problem);
  const auto end_of = [&](const LengthLaw& L, const Execution& execution) {
    return parameters_of(regression_flow(problem, AttentionKind::softmax, L, start, {}, execution).last);
  };
  const auto risk_at = [&](const LengthLaw& L, const Vector& end) {
    return invariant_risk(problem, AttentionKind::softmax, L)->at(end).value;
  };
  const std::vector<LengthLaw> trained = {8, 64, law, kInfinity};
  const char* labels[] = {"trained at L = 8", "trained at L = 64", "trained on 1 to 64", "trained at L = ∞"};
  const std::vector<Vector> ends = side_by_side(trained, options.execution, end_of);
  const std::vector<double> of_law(law.lengths().begin(), law.lengths().end());
  const std::vector<double> risks = side_by_side(
      of_law, options.execution, [&](double L, const Execution&) { return risk_at(L, ends[2]); });
  double average = 0;
  for (std::size_t i = 0; i < risks.size(); ++i) average += law.probabilities()[i] * risks[i];
  report::ReportTable table{"Risk at the length of the first column, after training at that of the others.",
                            {"evaluated at L", "8", "64", "uniform, 1 to 64", "∞", "that length itself"}};
  std::vector<Curve> curves;
  for (int i = 0; i < 4; ++i) curves.push_back({.label = labels[i], .color = i});
  Curve own{.label = "trained there", .style = Curve::Style::points, .color = 7};
  double beaten = 0;
  std::vector<LengthLaw> evaluated{law};
  const int count = options.control ? 2 : options.quick ? 7 : 13;
  for (const double L : log_spaced_lengths(1, 4096, count)) evaluated.emplace_back(L);
  const std::vector<Vector> own_ends = side_by_side(evaluated, options.execution, end_of);
  for (std::size_t at = 0; at < evaluated.size(); ++at) {
    const LengthLaw& L = evaluated[at];
    const double best = risk_at(L, options.control == 2 ? ends[0] : own_ends[at]);
    std::vector<report::ReportCell> row{L.is_one_length() ? report::ReportCell(L.longest())
                                                          : "uniform, 1 to 64"};
    for (std::size_t i = 0; i < trained.size(); ++i) {
      const double risk = risk_at(L, ends[i]);
      beaten = larger(beaten, 1 - risk / best);
      row.emplace_back(risk);
      if (!L.is_one_length()) continue;
      curves[i].add(L.longest(), risk);
    }
    row.emplace_back(best);
    table.rows.push_back(std::move(row));
    if (!L.is_one_length()) continue;
    own.add(L.longest(), best);
  }
  curves.push_back(own);
  const double of_mean = risk_at(law.mean(), ends[2]);
  const double risk = options.control == 1 ? of_mean : risk_at(law, ends[2]);
  report::ReportSection claim{
      .computed =
          "d = 5, Σ = I, no noise: gradient flows from the paper's start to their ends at L = 8, at L = 64, "
          "on lengths uniform from 1 to 64, and on the infinite prompt, each evaluated at other lengths, "
          "where training was run as well. The risk of the law is compared with the average of its 64 "
          "risks."};
  claim.computed += fmt::format(
      " Over prompts of the mean length, {:g}, the head trained on the law has {:.2f} times that average.",
      law.mean(), of_mean / average);
  claim.numbers = {
      {"|risk of the law / average of the risks − 1|", std::abs(risk / average - 1), 1e-10},
      {"largest relative gain of training at another length, zero if there is none", beaten, 1e-7}};
  claim.tables = {table};
  claim.figures = {{"random-lengths",
                    {{{.x_label = "prompt length L", .y_label = "risk at L", .curves = curves}},
                     "Heads trained at one length, or on all lengths up to 64, at other lengths."}}};
  const bool differs = std::abs(of_mean / average - 1) > 0.01;
  return decided(std::move(claim),
                 {{differs, "the risk of the law differs from that of its mean length by more than 1 %",
                   "the risk of the law is within 1 % of that of its mean length"}});
}

}  // namespace largo::claims
