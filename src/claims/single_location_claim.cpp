// The claim that attention finds a needle exactly while its signal is above √(2 ln L), and that training
// does.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "claims/chance.hpp"
#include "claims/claims.hpp"
#include "claims/plain_mean.hpp"
#include "largo/icl/single_location_training.hpp"
#include "largo/random/streams.hpp"

namespace largo::claims {
namespace {

constexpr double kLargestSlope = 1e-9;     // of the risk at the head that is claimed to be the best
constexpr double kTrainedDistance = 1e-4;  // of a and b, relative to the signal
constexpr double kLittleTolerance = 1e-3;  // of the path of a flow, whose end does not depend on it
constexpr double kLostOrFound = 0.05;  // of the share of the target that is not explained, at 10³⁰⁰ tokens

struct ScoreAndValue {
  Vector u, v;
};

ScoreAndValue random_head(std::uint64_t seed, std::uint64_t k) {
  std::vector<double> drawn(6);
  Stream(seed + 77, k).normals(0, drawn);
  return {Eigen::Map<Vector>(drawn.data(), 3), Eigen::Map<Vector>(drawn.data() + 3, 3)};
}

double exact_risk(const SingleLocation& problem, const ScoreAndValue& head) {
  Vector both(6);
  both << head.u, head.v;
  return single_location_risk(problem, 3)->at(both).value;
}

PlainMean drawn_risk(const SingleLocation& problem, const ScoreAndValue& head, std::uint64_t seed,
                     int prompts) {
  const auto L = static_cast<std::ptrdiff_t>(problem.L);
  std::vector<double> samples(static_cast<std::size_t>(prompts)), drawn(static_cast<std::size_t>(3 * L + 1));
  for (std::size_t k = 0; k < samples.size(); ++k) {
    Stream(seed, k).normals(0, drawn);
    Eigen::Map<RowMatrix> tokens(drawn.data(), L, 3);
    tokens.row(0) *= problem.needle_spread;
    tokens(0, 0) += problem.signal;
    const double y = tokens(0, 1) + std::sqrt(problem.noise_variance) * drawn.back();
    const Vector scores = tokens * head.u;
    const Vector weights = (scores.array() - scores.maxCoeff()).exp();
    samples[k] = 0.5 * std::pow(weights.dot(tokens * head.v) / weights.sum() - y, 2);
  }
  return mean_of(samples, [](double sample) { return sample; });
}

// The share of the target that the best head does not explain, against m / √(2 ln L).
Panel transition_panel(bool little) {
  Panel panel{.title = "what the best head leaves",
              .x_label = "m / √(2 ln L)",
              .y_label = "excess risk, relative to predicting zero",
              .log_x = false,
              .log_y = false};
  int color = 0;
  for (const double L : {1e2, 1e6, 1e20, 1e100, 1e300}) {
    Curve curve{.label = "L = " + report::shown(L), .color = color++};
    for (double x = 0.3; x <= 1.75; x += little ? 0.2 : 0.1) {
      const SingleLocation problem{.L = L,
                                   .signal = std::min(kLargestNeedleSignal, x * std::sqrt(2 * std::log(L)))};
      curve.add(x, best_single_location(problem).excess.value / problem.null_risk());
      if (problem.signal >= kLargestNeedleSignal) break;
    }
    panel.curves.push_back(std::move(curve));
  }
  return panel;
}

// What is left of the target in 1e300 tokens, on the wrong side of the critical signal.
double on_the_wrong_side(bool wrong) {
  const double critical = std::sqrt(2 * std::log(1e300));
  const auto share = [](double signal) {
    const SingleLocation problem{.L = 1e300, .signal = signal};
    return best_single_location(problem).excess.value / problem.null_risk();
  };
  const double at = wrong ? critical / std::sqrt(2.0) : critical;
  return larger(1 - share(0.9 * at), share(1.1 * at));
}

}  // namespace

report::ReportSection single_location_claim(const ClaimOptions& options) {
  const bool little = options.quick || options.control;
  const int prompts = options.full ? 200000 : little ? 3000 : 20000;
  report::ReportTable drawn{"Risks of random heads, exact and simulated.",
                            {"L", "signal m", "spread γ", "exact", "simulated", "standard error"}};
  double worst_z = 0;
  const std::vector<SingleLocation> problems = {
      {8, 2, 0.7, 0.1}, {30, 4, 1, 0}, {12, 1, 1.5, 0.3}, {60, 3, 1, 0.1}};
  for (std::size_t k = 0; k < (little ? 2 : problems.size()); ++k) {
    const SingleLocation& problem = problems[k];
    const ScoreAndValue head = random_head(options.seed, k);
    const double exact =
        exact_risk(problem, options.control == 2 ? ScoreAndValue{head.u, 1.5 * head.v} : head);
    const PlainMean mean = drawn_risk(problem, head, options.seed + k, prompts);
    worst_z = larger(worst_z, mean.z_score(exact));
    drawn.rows.push_back({problem.L, problem.signal, problem.needle_spread, exact, mean.value, mean.error});
  }

  report::ReportTable trained{"Gradient flow from a = b = 0.1, signal 5, spread 1.",
                              {"L", "a at the end", "b at the end", "risk", "weight of the needle"}};
  double slope = 0, distance = 0;
  FlowPlan plan = single_location_plan();
  if (little) plan.relative_tolerance = kLittleTolerance;
  const std::vector<double> lengths = little ? std::vector<double>{1e8} : std::vector<double>{1e2, 1e12};
  for (const double L : lengths) {
    const SingleLocation problem{.L = L, .signal = 5};
    Vector best = Vector::Zero(6);
    const double claimed = (options.control == 3 ? 1.1 : 1) * problem.signal;
    best[0] = claimed;
    best[4] = 1;
    slope = larger(slope, single_location_risk(problem, 3)->at(best).gradient.norm());
    const SingleLocationFlow flow = single_location_flow(problem, 0.1, 0.1, plan);
    distance = larger(distance, std::hypot(flow.last.a - claimed, flow.last.b - 1) / claimed);
    trained.rows.push_back(
        {L, flow.last.a, flow.last.b, flow.flow.last.value, flow.last.needle_weight.value});
  }

  report::ReportSection claim{
      .computed = fmt::format(
          "Risks of {} random heads (u, v), off the plane of k* and v*, exactly and over {} drawn prompts. "
          "For "
          "γ = 1, the slope of the risk at u = m k*, v = v*, and the end of {}. The best "
          "heads at "
          "10³⁰⁰ tokens for signals 10 % below and above √(2 ln L). Flows from other starts, and for other "
          "spreads of the needle, were not computed here.{}",
          drawn.rows.size(), prompts, little ? "a gradient flow" : "two gradient flows",
          chance_text(drawn.rows.size()))};
  claim.numbers = {
      largest_distance("simulated and exact risk", worst_z, drawn.rows.size()),
      {"largest slope of the risk at the head that is claimed to be the best", slope, kLargestSlope},
      {"largest distance from it at the end of training, relative", distance, kTrainedDistance},
      {"largest share of the target found below the critical signal, or lost above it",
       on_the_wrong_side(options.control == 1), kLostOrFound}};
  claim.tables = {drawn, trained};
  claim.figures = {
      {"single-location",
       {{transition_panel(little)},
        "The excess risk of the best head for a needle of signal m. As prompts grow, it becomes a "
        "step at √(2 ln L), the size of the largest of L standard normal numbers."}}};
  return decided(std::move(claim));
}

}  // namespace largo::claims
