// The claims about training on the exact risk: the limit of infinite prompts, and how finite ones reach it.
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "claims/claims.hpp"
#include "largo/exact/length_law.hpp"
#include "largo/icl/invariant_risk.hpp"
#include "largo/icl/regression_flow.hpp"
#include "largo/icl/regression_maps.hpp"
#include "largo/icl/threshold.hpp"
#include "largo/random/streams.hpp"
#include "report/report.hpp"

namespace largo::claims {
namespace {

constexpr double kLimitTolerance = 1e-6;
constexpr double kRatioTolerance = 0.01;
constexpr double kCloseToLimitFlow = 1e-3;  // at L = 10⁹, for parameters whose norm is about 3
constexpr Eigen::Index kDimension = 5;

// A covariance with eigenvalues from 1 down to 1/condition in a random basis.
Matrix random_covariance(Eigen::Index d, double condition, const Stream& stream) {
  Matrix normals(d, d);
  stream.normals(0, {normals.data(), static_cast<std::size_t>(normals.size())});
  Matrix S = Matrix::Zero(d, d);
  Matrix basis = normals;
  for (Eigen::Index j = 0; j < d; ++j) {  // Gram–Schmidt
    for (Eigen::Index k = 0; k < j; ++k) basis.col(j) -= basis.col(k).dot(basis.col(j)) * basis.col(k);
    basis.col(j).normalize();
    S +=
        std::pow(condition, -static_cast<double>(j) / static_cast<double>(std::max<Eigen::Index>(1, d - 1))) *
        basis.col(j) * basis.col(j).transpose();
  }
  return 0.5 * (S + S.transpose());
}

RegressionProblem round_problem() { return paper_problem(Matrix::Identity(kDimension, kDimension)); }

InvariantPoint usual_start(const RegressionProblem& problem) {
  return paper_start(problem, 0.5 * largest_admissible_alpha(problem));
}

// A path in time, reduced to points that can be told apart on a logarithmic axis.
template <typename Height>
Curve path_curve(std::string label, int color, const Trajectory& path, double from, const Height& height) {
  constexpr double kApart = 1.05;
  Curve curve{.label = std::move(label), .color = color};
  for (const TrajectoryPoint& point : path.points()) {
    const double y = height(point);
    if (point.time < (curve.x.empty() ? from : kApart * curve.x.back()) || !(y > 0)) continue;
    curve.x.push_back(point.time);
    curve.y.push_back(y);
  }
  return curve;
}

// L R_L of long prompts after training, in d = 5: the minimum over t = a² of d/2 (1 - 2t)^{-d/2-1} (1 - t)/t
// (docs/icl.md).
double trained_constant() {
  constexpr double d = kDimension;
  // At the minimum, (d + 2) t (1 - t) = 1 - 2t.
  const double half = (d + 4) / (2 * (d + 2));
  const double t = half - std::sqrt(half * half - 1 / (d + 2));
  return d / 2 * std::pow(1 - 2 * t, -d / 2 - 1) * (1 - t) / t;
}

}  // namespace

report::ReportSection infinite_limit_claim(const ClaimOptions& options) {
  const int starts = options.quick ? 10 : options.full ? 100 : 30;
  constexpr int kShown = 6;
  constexpr double kShownDistance = 1e-7;  // below this, the error of the integrator shows
  double error = 0, drift = 0, risk = 0, largest_condition = 1;
  Panel panel{.x_label = "time t", .y_label = "distance from (A∞, b∞)"};
  for (int i = 0; i < starts; ++i) {
    const Stream stream = Stream(options.seed, 77).substream(static_cast<std::uint64_t>(i));
    double uniforms[3];
    stream.substream(0).uniforms(0, uniforms);
    const auto d = static_cast<Eigen::Index>(2 + std::floor(9 * uniforms[0]));
    const double condition = std::pow(100, uniforms[1]);
    largest_condition = std::max(largest_condition, condition);
    const RegressionProblem problem = paper_problem(random_covariance(d, condition, stream.substream(1)));
    Matrix theta(d, d);
    stream.substream(2).normals(0, {theta.data(), static_cast<std::size_t>(theta.size())});
    const double alpha = std::max(0.05, uniforms[2]) * largest_admissible_alpha(problem);
    const RegressionFlow flow = regression_flow(problem, AttentionKind::softmax, kInfinity,
                                                paper_start(problem, alpha, theta), {}, options.execution);
    const InvariantPoint limit = infinite_limit(problem);
    error = std::max(error, std::hypot((flow.last.A - limit.A).norm(), flow.last.b - limit.b));
    drift = std::max(drift, flow.flow.drift.back() / limit.A.squaredNorm());
    risk = std::max(risk, flow.flow.last.value);
    if (i >= kShown) continue;
    Vector end(d * d + 1);
    end << limit.A.reshaped(), limit.b;
    panel.curves.push_back(path_curve(fmt::format("d = {}, condition {:.0f}", d, condition), i,
                                      flow.flow.trajectory, 1e-2, [&](const TrajectoryPoint& point) {
                                        const double distance =
                                            (flow.map->map(point.parameters) - end).norm();
                                        return distance > kShownDistance ? distance : 0;
                                      }));
  }
  report::ReportSection claim{
      .computed =
          "Random covariances Σ of condition up to 100 in 2 to 10 dimensions, random Θ, α uniform in the "
          "admissible range (from 5 % of it on); flow by CVODE until it is stationary."};
  claim.numbers = {{"starts", static_cast<double>(starts)},
                   {"largest condition of a covariance", largest_condition},
                   {"largest distance from (A∞, b∞) at the end", error, kLimitTolerance},
                   {"largest change of ‖A‖² − b², relative to ‖A‖²", drift, kLimitTolerance},
                   {"largest risk at the end", risk, kLimitTolerance}};
  claim.figures = {
      {"infinite-limit",
       {{panel},
        "Flows of the infinite prompt from six of the starts approach the minimum of the theorem, down to "
        "what the integrator resolves."}}};
  return decided(std::move(claim), true);
}

report::ReportSection transfer_claim(const ClaimOptions& options) {
  const RegressionProblem problem = round_problem();
  const InvariantPoint start = usual_start(problem);
  const RegressionFlow limit = regression_flow(problem, AttentionKind::softmax, kInfinity, start);
  report::ReportTable table{
      "Risk at the end of training, and largest distances from the limit flow up to t = 5.",
      {"L", "trained risk", "parameters", "predictions", "gradients"}};
  Curve curves[3] = {
      {.label = "parameters"}, {.label = "predictions", .color = 1}, {.label = "gradients", .color = 2}};
  Panel training{.title = "training", .x_label = "time t", .y_label = "risk"};
  bool falls = true;
  double before = kInfinity, risk_before = kInfinity;
  constexpr double kLongest = 1e9;
  for (const double L : {1e1, 1e2, 1e3, 1e4, 1e6, kLongest}) {
    const RegressionFlow flow =
        regression_flow(problem, AttentionKind::softmax, L, start, {}, options.execution);
    const FlowDistance distance = flow_distance(problem, flow, limit, 5);
    const double values[] = {distance.parameters.value, distance.predictions.value, distance.gradients.value};
    table.rows.push_back({L, flow.flow.last.value, values[0], values[1], values[2]});
    for (int k = 0; k < 3; ++k) {
      curves[k].x.push_back(L);
      curves[k].y.push_back(values[k]);
    }
    falls = falls && values[0] < before && flow.flow.last.value < risk_before;
    before = values[0];
    risk_before = flow.flow.last.value;
    training.curves.push_back(path_curve(fmt::format("L = {}", report::shown(L)),
                                         static_cast<int>(training.curves.size()), flow.flow.trajectory, 0.1,
                                         [](const TrajectoryPoint& point) { return point.risk; }));
  }
  training.curves.push_back(
      path_curve("L = ∞", 7, limit.flow.trajectory, 0.1, [&](const TrajectoryPoint& point) {
        return point.risk > risk_before / 10 ? point.risk : 0;  // the risk falls exponentially
      }));
  training.curves.back().style = Curve::Style::dashed;
  Panel distances{.title = "supremum up to t = 5",
                  .x_label = "prompt length L",
                  .y_label = "distance from the limit flow",
                  .curves = {curves[0], curves[1], curves[2]}};
  report::ReportSection claim{
      .computed =
          "Gradient flow on the exact risk, d = 5, identity covariances, α half of the admissible range: the "
          "suprema up to t = 5 of the distances from the flow of the infinite prompt, and the risks at the "
          "end, beside C/L with the constant C of L(ε)."};
  claim.numbers = {{"largest distance of the parameters at L = 10⁹", before, kCloseToLimitFlow},
                   {"|L R / C − 1| at L = 10⁹", std::abs(kLongest * risk_before / trained_constant() - 1),
                    kRatioTolerance}};
  claim.tables = {table};
  claim.figures = {
      {"transfer", {{training, distances}, "Training at finite L beside training on the infinite prompt."}}};
  return decided(
      std::move(claim), falls,
      falls ? "distance and trained risk fall with every L" : "distance or trained risk does not fall");
}

report::ReportSection threshold_claim(const ClaimOptions& options) {
  const RegressionProblem problem = round_problem();
  const InvariantPoint start = usual_start(problem);
  const double constant = trained_constant();
  report::ReportTable table{
      "L(ε), the risk after training at that length, and what is left to ε there and with a token less: "
      "positive where the prompt is long enough, negative where it is not.",
      {"ε", "L(ε)", "risk there", "ε − risk", "ε − risk with a token less", "ε L(ε)"}};
  Curve found{.label = "L(ε)", .style = Curve::Style::points},
      asymptote{.label = fmt::format("{:.2f}/ε", constant), .style = Curve::Style::dashed, .color = 7};
  bool holds = true;
  double last = 0;
  const std::vector<double> tolerances =
      options.quick ? std::vector{1e-1, 1e-2, 1e-3}
                    : std::vector{1., 0.3, 0.1, 0.03, 0.01, 3e-3, 1e-3, 3e-4, 1e-4, 3e-5, 1e-5};
  for (const double epsilon : tolerances) {
    const Threshold at = threshold(problem, epsilon, start, {}, options.execution);
    holds = holds && at.risk <= at.limit + epsilon && (at.L == 1 || at.before.risk > at.limit + epsilon);
    // Differences are shown, since the risks themselves agree in all digits that a table has.
    const double most = at.limit + epsilon;
    std::vector<report::ReportCell>& row = table.rows.emplace_back();
    row = {epsilon, at.L, at.risk, most - at.risk, most - at.before.risk, epsilon * at.L};
    if (at.L == 1) row[4] = {};  // a single token cannot be removed
    last = epsilon * at.L;
    found.x.push_back(epsilon);
    found.y.push_back(at.L);
    asymptote.x.push_back(epsilon);
    asymptote.y.push_back(constant / epsilon);
  }
  report::ReportSection claim{.computed =
                                  "d = 5, identity covariances: bracketing on the exact trained risk, "
                                  "verified by training at L and at L − 1."};
  claim.numbers = {{"|ε L(ε) / C − 1| at the smallest ε", std::abs(last / constant - 1), kRatioTolerance}};
  claim.tables = {table};
  claim.figures = {{"threshold",
                    {{{.x_label = "ε", .y_label = "prompt length L(ε)", .curves = {found, asymptote}}},
                     "The prompt length that training needs to come within ε of the infinite prompt."}}};
  return decided(
      std::move(claim), holds,
      holds ? "every L(ε) is enough, and a token less is not" : "some L(ε) is not the smallest length");
}

report::ReportSection risk_ratio_claim(const ClaimOptions& options) {
  const RegressionProblem problem = round_problem();
  const InvariantPoint start = usual_start(problem);
  const double limit = 2 * trained_constant() / (kDimension * (kDimension + 1.0));
  report::ReportTable table{"Risks of the trained softmax head and of the best linear one.",
                            {"L", "softmax", "linear", "ratio"}};
  Curve softmax{.label = "softmax"}, linear{.label = "linear", .color = 1},
      ratio{.label = "ratio", .color = 2},
      asymptote{.label = fmt::format("limit {:.2f}", limit), .style = Curve::Style::dashed, .color = 7};
  bool larger = true;
  double last = 0;
  for (const double L : log_spaced_lengths(10, 1e6, options.quick ? 6 : 11)) {
    const RegressionFlow flow =
        regression_flow(problem, AttentionKind::softmax, L, start, {}, options.execution);
    const InvariantPoint best = best_linear(problem, L);
    Vector at(best.A.size() + 1);
    at << best.A.reshaped(), best.b;
    const double of_softmax = flow.flow.last.value;
    const double of_linear = invariant_risk(problem, AttentionKind::linear, L)->at(at).value;
    last = of_softmax / of_linear;
    larger = larger && last > 1;
    table.rows.push_back({L, of_softmax, of_linear, last});
    for (Curve* curve : {&softmax, &linear, &ratio, &asymptote}) curve->x.push_back(L);
    softmax.y.push_back(of_softmax);
    linear.y.push_back(of_linear);
    ratio.y.push_back(last);
    asymptote.y.push_back(limit);
  }
  report::ReportSection claim{.computed =
                                  "d = 5, identity covariances, no noise: gradient flow on the exact softmax "
                                  "risk to its end, and the exact minimum of the linear one."};
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
  return decided(std::move(claim), larger,
                 larger ? "the ratio is above 1 at every length" : "the ratio is not above 1 at some length");
}

report::ReportSection random_lengths_claim(const ClaimOptions& options) {
  const LengthLaw law = LengthLaw::uniform(1, 64);
  const RegressionProblem problem = round_problem();
  const InvariantPoint start = usual_start(problem);
  const auto end_of = [&](const LengthLaw& L) {
    const InvariantPoint last =
        regression_flow(problem, AttentionKind::softmax, L, start, {}, options.execution).last;
    Vector at(last.A.size() + 1);
    at << last.A.reshaped(), last.b;
    return at;
  };
  const auto risk_at = [&](const LengthLaw& L, const Vector& end) {
    return invariant_risk(problem, AttentionKind::softmax, L)->at(end).value;
  };
  const std::vector<LengthLaw> trained = {8, 64, law, kInfinity};
  const char* labels[] = {"trained at L = 8", "trained at L = 64", "trained on 1 to 64", "trained at L = ∞"};
  std::vector<Vector> ends;
  for (const LengthLaw& L : trained) ends.push_back(end_of(L));
  double average = 0;
  for (std::size_t i = 0; i < law.lengths().size(); ++i) {
    average += law.probabilities()[i] * risk_at(law.lengths()[i], ends[2]);
  }
  report::ReportTable table{"Risk at the length of the first column, after training at that of the others.",
                            {"evaluated at L", "8", "64", "uniform, 1 to 64", "∞", "that length itself"}};
  std::vector<Curve> curves;
  for (int i = 0; i < 4; ++i) curves.push_back({.label = labels[i], .color = i});
  Curve own{.label = "trained there", .style = Curve::Style::points, .color = 7};
  double beaten = 0;
  std::vector<LengthLaw> evaluated{law};
  for (const double L : log_spaced_lengths(1, 4096, options.quick ? 7 : 13)) evaluated.emplace_back(L);
  for (const LengthLaw& L : evaluated) {
    const double best = risk_at(L, end_of(L));
    std::vector<report::ReportCell> row{L.is_one_length() ? report::ReportCell(L.longest())
                                                          : "uniform, 1 to 64"};
    for (std::size_t i = 0; i < trained.size(); ++i) {
      const double risk = risk_at(L, ends[i]);
      beaten = std::max(beaten, 1 - risk / best);
      row.emplace_back(risk);
      if (!L.is_one_length()) continue;
      curves[i].x.push_back(L.longest());
      curves[i].y.push_back(risk);
    }
    row.emplace_back(best);
    table.rows.push_back(std::move(row));
    if (!L.is_one_length()) continue;
    own.x.push_back(L.longest());
    own.y.push_back(best);
  }
  curves.push_back(own);
  const double risk = risk_at(law, ends[2]), of_mean = risk_at(law.mean(), ends[2]);
  report::ReportSection claim{
      .computed =
          "d = 5, identity covariances, no noise: gradient flows to their ends at L = 8, at L = 64, on "
          "lengths uniform from 1 to 64, and on the infinite prompt, each evaluated at other lengths. The "
          "risk of the law is compared with the average of its 64 risks."};
  claim.computed +=
      fmt::format(" Negative control: prompts of the mean length, {:g}, have {:.2f} times the risk.",
                  law.mean(), of_mean / risk);
  claim.numbers = {{"|risk of the law / average of the risks − 1|", std::abs(risk / average - 1), 1e-10},
                   {"share of the risk by which training elsewhere is better", beaten, 1e-7}};
  claim.tables = {table};
  claim.figures = {{"random-lengths",
                    {{{.x_label = "prompt length L", .y_label = "risk at L", .curves = curves}},
                     "Heads trained at one length, or on all lengths up to 64, at other lengths."}}};
  const bool differs = std::abs(of_mean / risk - 1) > 0.01;
  return decided(
      std::move(claim), differs,
      differs ? "the risk of the law is not that of its mean length" : "the control does not fail");
}

}  // namespace largo::claims
