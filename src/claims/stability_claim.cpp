// The claim about concentration along training: the errors of a head while it is trained, from the start to
// the end.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "claims/chance.hpp"
#include "claims/claims.hpp"
#include "claims/errors_in_training.hpp"
#include "claims/signs_in_training.hpp"
#include "claims/trained_regression.hpp"
#include "largo/exact/softmax_moments.hpp"
#include "largo/icl/in_context_problem.hpp"

namespace largo::claims {
namespace {

// Thresholds of the verdict: for what is left at L = 10⁶ of the supremum at L = 100; for the supremum along
// the flow of L tokens over that along the flow of the infinite prompt; for the difference of slope and
// exponent, which logarithms still change at these lengths.
constexpr double kMostLeft = 0.1, kMostBeyond = 1.5, kMostOffExponent = 0.1;
// The lengths at which heads are trained; along the limit flow there are more.
constexpr double kShortTraining = 1e2, kLongTraining = 1e6;
const std::vector<double> kLengths = {kShortTraining, 1e4, kLongTraining, 1e8, 1e16, 1e32};
constexpr std::size_t kLast = 2;  // the place of kLongTraining
// For an error with another rule over the tasks: both are exact but for quadrature.
constexpr double kMostOffRule = 1e-8;
constexpr double kSampledLength = 10;
// Covariates of coordinates ±1: in three dimensions, from half of the largest α of the paper for Σ = I.
constexpr Eigen::Index kSigns = 3;
constexpr const char* kSignsName = "covariates, queries and tasks ±1, d = 3";
// The second negative control takes errors at one length for those at another.
constexpr double kOtherLength = 12;
constexpr double kShorter = 0.125;  // a power: the third negative control
// The negative control makes the scores grow along the path, up to this many times.
constexpr double kRunaway = 16;

constexpr const char* kErrorNames[] = {"output", "gradient in V", "gradient in U"};

struct TrainedProblem {
  const char* name;
  RegressionProblem problem;
  bool trains = true;  // on finite prompts as well
};

std::vector<TrainedProblem> stability_problems(const ClaimOptions& options) {
  std::vector<TrainedProblem> problems{
      {"Σ = diag(2, 1, 1/2), noise 1/4", diagonal_problem(Vector{{2, 1, 0.5}}, 0.25), !options.quick},
      {"Σ = I, d = 5, noise 1", diagonal_problem(Vector::Ones(5), 1)}};
  if (!options.quick) {
    problems.push_back(
        {"Σ = diag(1, 1, 1/4, 1/4), no noise", diagonal_problem(Vector{{1, 1, 0.25, 0.25}}, 0), false});
  }
  if (options.control) problems = {problems[1]};
  return problems;
}

Curve curve_of(const ErrorsOnPath& errors, std::size_t length, int color, Curve::Style style) {
  Curve curve{.label = fmt::format("L = {}{}", report::shown(errors.lengths()[length]),
                                   style == Curve::Style::line ? "" : ", trained on L"),
              .style = style,
              .color = color};
  for (std::size_t i = 0; i < errors.path().size(); ++i) {
    curve.add(errors.path()[i].share, errors.at(i, length)[kOutputError]);
  }
  return curve;
}

class Stability {
 public:
  explicit Stability(const ClaimOptions& options) : options_(options) {}

  void add(const TrainedProblem& trained) {
    std::vector<double> trained_at{kInfinity};
    if (trained.trains) trained_at = {kInfinity, kShortTraining, kLongTraining};
    const std::vector<RegressionFlow> paths =
        side_by_side(trained_at, options_.execution, [&](double L, const Execution& execution) {
          return regression_flow(trained.problem, AttentionKind::softmax, L, usual_start(trained.problem),
                                 {.relative_tolerance = 1e-5}, execution);
        });
    const ErrorsOnPath limit = errors_of(trained.problem, paths[0], kLengths);
    for (std::size_t l = 0; l < kLengths.size(); ++l) add_row(trained.name, "∞", limit, l);
    add_exponents(trained.name, limit, averaged_exponent(limit.spread()));
    check_at(trained.problem, limit.farthest(kLast), trained.trains);
    if (!trained.trains) return;
    const std::vector<ErrorsOnPath> flows = {errors_of(trained.problem, paths[1], {kShortTraining}),
                                             errors_of(trained.problem, paths[2], {kLongTraining})};
    const std::size_t of_limit[] = {0, kLast};
    for (std::size_t i = 0; i < flows.size(); ++i) {
      add_row(trained.name, flows[i].lengths().front(), flows[i], 0);
      for (const TrainingError e : kTrainingErrors) {
        beyond = larger(beyond, flows[i].largest(0, e) / limit.largest(of_limit[i], e));
      }
    }
    for (const TrainingError e : kTrainingErrors) {
      left = larger(left, flows[1].largest(0, e) / flows[0].largest(0, e));
    }
    if (!figure.panels.empty()) return;
    Panel along{.title = fmt::format("output, {}", trained.name),
                .x_label = "share of the path travelled",
                .y_label = "error",
                .log_x = false};
    for (std::size_t i = 0; i < flows.size(); ++i) {
      const int color = 3 + static_cast<int>(i);
      along.curves.push_back(curve_of(limit, of_limit[i], color, Curve::Style::line));
      along.curves.push_back(curve_of(flows[i], 0, color, Curve::Style::dashed));
    }
    figure.panels = {along, supremum_panel(limit, flows)};
  }

  // Tokens that are not Gaussian given the task, on the path of the infinite prompt.
  void add_signs() {
    const double alpha = usual_start(diagonal_problem(Vector::Ones(kSigns), 0)).b;
    std::vector<PointOnPath> path = signs_path(kSigns, alpha, 5);
    run_away(path);
    const ErrorsOnPath errors =
        signs_errors(kSigns, std::move(path), lengths_of_errors(kLengths), options_.execution);
    for (std::size_t l = 0; l < kLengths.size(); ++l) add_row(kSignsName, "∞", errors, l);
    for (const TrainingError e : kTrainingErrors)
      signs_left = larger(signs_left, errors.largest(kLast, e) / errors.largest(0, e));
    add_exponents(kSignsName, errors, 1);
    const PointOnPath& point = errors.farthest(0);
    compare(
        signs_errors(kSigns, {point}, {checked_length()}, options_.execution).at(0, 0),
        {.task = signs_task(kSigns), .loss = squared_loss(), .length = kSampledLength, .seed = options_.seed},
        point.head);
  }

  report::ReportTable suprema{
      "Largest errors among the computed points of the path of training at the length of the second column, "
      "over prompts of L tokens, "
      "and the time at which that of the output is reached.",
      {"problem", "trained at", "L", "output", "gradient in V", "gradient in U", "time"}};
  report::ReportTable exponents{
      "Exponents of these suprema on the path of the infinite prompt between L = 10¹⁶ and 10³², and c(σ) at "
      "the largest spread σ of the scores on that path; for coordinates ±1, c = 1.",
      {"problem", "largest σ", "c(σ)", "output", "gradient in V", "gradient in U"}};
  Figure figure{.caption =
                    "Errors of a head while it is trained. Lines: on the path of the infinite prompt; dashed "
                    "lines and filled marks: on that of training on L tokens. Numbers at the lines are "
                    "slopes between L = 10¹⁶ and 10³²."};
  double left = 0, signs_left = 0, beyond = 0, off_exponent = 0, off_rule = 0, z_score = 0;
  std::size_t compared = 0;

 private:
  // The third negative control takes errors over far fewer tokens than it says.
  std::vector<double> lengths_of_errors(std::vector<double> lengths) const {
    for (double& L : lengths) L = options_.control == 3 ? std::pow(L, kShorter) : L;
    return lengths;
  }

  double checked_length() const { return options_.control == 2 ? kOtherLength : kSampledLength; }

  // The first negative control.
  void run_away(std::vector<PointOnPath>& path) const {
    if (options_.control != 1) return;
    for (PointOnPath& point : path) point.head.A *= 1 + (kRunaway - 1) * point.share;
  }

  // The errors along a flow.
  ErrorsOnPath errors_of(const RegressionProblem& problem, const RegressionFlow& flow,
                         std::vector<double> lengths) const {
    std::vector<PointOnPath> path =
        points_along(problem, flow, flow.L.is_infinite() && !options_.quick ? 7 : 5);
    run_away(path);
    return {problem, std::move(path), lengths_of_errors(std::move(lengths)), options_.execution};
  }

  // Exact errors and those of sampled prompts.
  void compare(const ErrorsAt& exact, const PromptSetting& setting, const InvariantPoint& head) {
    const SampledErrors sampled =
        sampled_errors(setting, head, options_.quick ? 4000 : 20000, options_.execution);
    for (const TrainingError e : kTrainingErrors) {
      z_score = larger(z_score, std::abs(sampled.mean[e] - exact[e]) / sampled.standard_error[e]);
      ++compared;
    }
  }

  void add_row(const char* name, report::ReportCell trained_at, const ErrorsOnPath& flow, std::size_t l) {
    std::vector<report::ReportCell> row{name, std::move(trained_at), flow.lengths()[l]};
    for (const TrainingError e : kTrainingErrors) row.emplace_back(flow.largest(l, e));
    row.emplace_back(flow.farthest(l).time);
    suprema.rows.push_back(std::move(row));
  }

  void add_exponents(const char* name, const ErrorsOnPath& limit, double c) {
    std::vector<report::ReportCell> row{name, limit.spread(), c};
    for (const TrainingError e : kTrainingErrors) {
      const double found = exponent(limit, e);
      off_exponent = larger(off_exponent, std::abs(found - c));
      row.emplace_back(found);
    }
    exponents.rows.push_back(std::move(row));
  }

  // Between the two longest lengths.
  static double exponent(const ErrorsOnPath& limit, TrainingError error) {
    const std::size_t last = kLengths.size() - 1;
    return std::log(limit.largest(last - 1, error) / limit.largest(last, error)) /
           std::log(kLengths[last] / kLengths[last - 1]);
  }

  static Panel supremum_panel(const ErrorsOnPath& limit, const std::vector<ErrorsOnPath>& flows) {
    Panel panel{.title = "largest over the computed points",
                .x_label = "prompt length L",
                .y_label = "largest error"};
    for (const TrainingError e : kTrainingErrors) {
      Curve line{.label = kErrorNames[e],
                 .color = static_cast<int>(e),
                 .note = report::shown(-exponent(limit, e), 2)};
      Curve marks{.style = Curve::Style::points, .color = static_cast<int>(e)};
      for (std::size_t l = 0; l < kLengths.size(); ++l) {
        line.add(kLengths[l], limit.largest(l, e));
      }
      for (const ErrorsOnPath& flow : flows) {
        marks.add(flow.lengths().front(), flow.largest(0, e));
      }
      panel.curves.push_back(std::move(line));
      panel.curves.push_back(std::move(marks));
    }
    return panel;
  }

  // Against another rule over the tasks, and against sampled prompts.
  void check_at(const RegressionProblem& problem, const PointOnPath& point, bool samples) {
    const auto exact = [&](TaskRule rule, double L) {
      return errors_along(problem, {point}, {L}, rule, options_.execution).front().front();
    };
    const ErrorsAt errors = exact(TaskRule::smallest, checked_length()),
                   other = exact(TaskRule::larger, kSampledLength);
    for (const TrainingError e : kTrainingErrors) {
      off_rule = larger(off_rule, std::abs(errors[e] / other[e] - 1));
    }
    if (!samples) return;
    const InContextProblem drawn = with_laws(problem, {});
    compare(errors, {.task = drawn.task, .loss = drawn.loss, .length = kSampledLength, .seed = options_.seed},
            point.head);
  }

  const ClaimOptions& options_;
};

}  // namespace

report::ReportSection stability_claim(const ClaimOptions& options) {
  Stability found(options);
  for (const TrainedProblem& trained : stability_problems(options)) found.add(trained);
  found.add_signs();
  report::ReportSection claim{
      .computed = fmt::format(
          "In-context regression with Ω = I from the paper's start (α half of the largest in its interval, Θ "
          "a multiple of I) until the flow is stationary, for {}: the "
          "exact errors of the prediction and its gradients, averaged over tasks and queries, at five to "
          "eight points along each path, among them both ends and the point at which scores have their "
          "largest spread σ. The paths are those of training on the infinite prompt and, for the problems "
          "with such rows in the table, on 100 and on 10⁶ tokens. To check "
          "them, errors over 10 tokens at one point were computed again with another rule for the average "
          "over tasks, and for the problems with three paths also sampled. Then tokens that are not Gaussian "
          "given the task: covariates, queries and tasks in three dimensions with coordinates ±1, on the "
          "path "
          "of the infinite prompt, exactly and sampled; they are bounded, and c is 1. Training on finite "
          "prompts of these was not computed here.{}",
          options.quick ? "two covariances with label noise"
                        : "three covariances, with label noise and without",
          chance_text(found.compared))};
  claim.numbers = {{"largest error at the points of the path of 10⁶ tokens over that of the path of 100",
                    found.left, kMostLeft},
                   {"largest error over 10⁶ tokens on a path over that over 100, coordinates ±1",
                    found.signs_left, kMostLeft},
                   {"largest error at the points of the path of L tokens over that of the infinite prompt's, "
                    "at the same L",
                    found.beyond, kMostBeyond},
                   {"largest difference of an exponent from c(σ)", found.off_exponent, kMostOffExponent},
                   {"largest relative difference of an error from that with another rule over tasks",
                    found.off_rule, kMostOffRule},
                   {"largest distance of a sampled error from the exact one, in standard errors",
                    found.z_score, z_limit(found.compared)}};
  claim.tables = {found.suprema, found.exponents};
  claim.figures = {{"stability", found.figure}};
  return decided(std::move(claim));
}

}  // namespace largo::claims
