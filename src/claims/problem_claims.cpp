// The claims about training on other problems than Gaussian regression: other covariates, other losses.
#include <algorithm>
#include <cmath>
#include <numbers>
#include <string>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "claims/claims.hpp"
#include "largo/icl/law_regression.hpp"
#include "largo/icl/mixture_classification.hpp"
#include "largo/icl/training/make_training_plan.hpp"
#include "largo/measures/mixture.hpp"
#include "largo/measures/named_law.hpp"

namespace largo::claims {
namespace {

constexpr std::int64_t kSets = 4;
constexpr double kHorizon = 6;
constexpr double kShortestPrompt = 10;
// Limit for the distance at L over that at 10, times √(L/10), less two standard errors.
constexpr double kRootRate = 1;
// Limits for what is left at the longest L of the distance, and of the excess risk, at 10, within two
// standard errors.
constexpr double kShareLeft = 0.5;

struct NamedProblem {
  const char* name;
  InContextProblem problem;
};

struct MeanAndError {
  double mean = 0, error = 0;
};

MeanAndError over_sets(const std::vector<double>& values) {
  const auto n = static_cast<double>(values.size());
  double mean = 0, squares = 0;
  for (const double x : values) mean += x / n;
  for (const double x : values) squares += (x - mean) * (x - mean);
  return {mean, std::sqrt(squares / (n - 1) / n)};
}

// Flows from A = 0.8 I/√d and b = 0.8 (or the usual start, for several outputs) up to kHorizon, on common
// draws at all lengths.
std::vector<TrainingRun> flows_of(const InContextProblem& problem, const std::vector<double>& lengths,
                                  const ClaimOptions& options) {
  TrainingRequest request;
  request.other = problem;
  request.sampling = PromptSampling::always;
  request.lengths.assign(lengths.begin(), lengths.end());
  request.lengths.emplace_back(kInfinity);
  request.time = kHorizon;
  request.tolerance = 1e-4;
  request.prompts = 64;
  request.seed = options.seed;
  const Eigen::Index d = problem.task->token_dimension() - problem.task->output_dimension();
  if (problem.task->output_dimension() == 1) {
    request.start = {0.8 / std::sqrt(static_cast<double>(d)) * Matrix::Identity(d, d), 0.8};
  }
  TrainingPlan plan = make_training_plan(request).plan;
  plan.flow.method = FlowMethod::krylov;
  plan.seeds = kSets;
  Execution execution = options.execution;
  execution.ranks = nullptr;
  return train(plan, execution);
}

// Distances of flows from the limit flow, and risks above its own, against the length.
class LimitDistances {
 public:
  LimitDistances(std::vector<double> lengths, const ClaimOptions& options)
      : lengths_(std::move(lengths)), options_(options) {}

  void add(const NamedProblem& named) {
    const std::vector<TrainingRun> runs = flows_of(named.problem, lengths_, options_);
    std::vector<double> limits;
    for (const TrainingRun& run : runs) {
      if (run.L.is_infinite()) limits.push_back(run.path.points().back().risk);
    }
    Curve curve{.label = named.name, .color = static_cast<int>(panel.curves.size())};
    MeanAndError first, first_excess, distance, excess;
    for (const double L : lengths_) {
      std::vector<double> distances, excesses;
      for (const TrainingRun& run : runs) {
        if (!(run.L == LengthLaw(L))) continue;
        excesses.push_back(run.path.points().back().risk - limits[distances.size()]);
        distances.push_back(run.to_limit_flow->parameters.value);
      }
      distance = over_sets(distances);
      excess = over_sets(excesses);
      table.rows.push_back({named.name, L, distance.mean, distance.error, excess.mean, excess.error});
      curve.x.push_back(L);
      curve.y.push_back(distance.mean);
      curve.low.push_back(distance.mean - 2 * distance.error);
      curve.high.push_back(distance.mean + 2 * distance.error);
      if (L == kShortestPrompt) first = distance, first_excess = excess;
    }
    distance_left = std::max(distance_left, share(distance, first));
    excess_left = std::max(excess_left, share(excess, first_excess));
    panel.curves.push_back(std::move(curve));
  }

  report::ReportTable table{
      "Largest distance of the parameters from the limit flow up to t = 6, and the risk at "
      "t = 6 above that of the limit flow.",
      {"problem", "L", "distance", "standard error", "excess risk", "its standard error"}};
  Panel panel{.x_label = "prompt length L", .y_label = "largest distance from the limit flow"};
  // What is left at the longest L of what there is at 10.
  double distance_left = 0, excess_left = 0;

  double longest() const { return lengths_.back(); }

 private:
  static double share(const MeanAndError& last, const MeanAndError& first) {
    return (last.mean - 2 * last.error) / (first.mean + 2 * first.error);
  }

  std::vector<double> lengths_;
  const ClaimOptions& options_;
};

report::ReportSection section_of(const LimitDistances& found, const char* id, const char* computed,
                                 report::ReportNumber distance) {
  report::ReportSection claim{.computed = computed};
  claim.numbers = {std::move(distance),
                   {"largest excess risk at the longest L over that at L = 10, within two standard errors",
                    found.excess_left, kShareLeft}};
  claim.tables = {found.table};
  claim.figures = {{id,
                    {{found.panel},
                     "Distance of training at finite L from the flow of the infinite prompt; bands are two "
                     "standard errors over sets of draws."}}};
  return decided(std::move(claim), true);
}

InContextProblem regression(RegressionLaws laws, LossPtr loss) {
  return {std::make_shared<LawRegression>(std::move(laws)), std::move(loss), 1};
}

}  // namespace

report::ReportSection other_covariates_claim(const ClaimOptions& options) {
  LimitDistances found(options.quick ? std::vector<double>{10, 100} : std::vector<double>{10, 100, 1000},
                       options);
  const std::pair<const char*, const char*> laws[] = {{"rademacher", "rademacher"},
                                                      {"uniform", "uniform:half-width=1.7320508"},
                                                      {"sphere", "sphere:radius=1.41421356"}};
  for (const auto& [name, law] : laws) {
    found.add({name, regression({.covariates = named_law(law, 2)}, squared_loss())});
  }
  return section_of(
      found, "other-covariates",
      "In-context regression in two dimensions, 64 tasks with common draws at all lengths, gradient flow up "
      "to "
      "t = 6: largest distance of (A, b) and risk on these draws, mean and standard error over four sets of "
      "draws. Laws of variance 1: ±1, uniform on an interval, uniform on the circle.",
      {"largest √(L/10) × distance at the longest L over that at L = 10, within two standard errors",
       found.distance_left * std::sqrt(found.longest() / kShortestPrompt), kRootRate});
}

report::ReportSection other_losses_claim(const ClaimOptions& options) {
  LimitDistances found(options.quick ? std::vector<double>{10, 100} : std::vector<double>{10, 100, 1000},
                       options);
  const auto noise = std::make_shared<MixtureMeasure>(
      Vector{{0.9, 0.1}}, std::vector<MeasurePtr>{named_law("gaussian:cov=0.01*identity", 1),
                                                  named_law("gaussian:cov=4*identity", 1)});
  RegressionLaws robust{.covariates = named_law("gaussian", 2)};
  robust.prior = named_law("laplace:scale=0.7,bound=10", 2);
  robust.noise = noise;
  found.add({"Huber, contaminated noise", regression(robust, huber_loss(1))});
  found.add({"logistic, two classes",
             {std::make_shared<MixtureClassification>(1, Matrix::Identity(2, 2)), logistic_loss(), 1}});
  RegressionLaws vectors{.covariates = named_law("gaussian", 2)};
  vectors.prior = named_law("rademacher", 2);
  vectors.outputs = 2;
  found.add({"two outputs, binary tasks", regression(vectors, squared_loss())});
  return section_of(
      found, "other-losses",
      "Three problems in two dimensions: regression with tasks of Laplace's law, one label in ten with large "
      "noise, and Huber's loss; classification of two Gaussian classes with the logistic loss; regression "
      "with "
      "two outputs, whose tasks have entries ±1. 64 tasks with common draws at all lengths, gradient flow up "
      "to t = 6: largest distance of the parameters and risk on these draws, mean and standard error over "
      "four "
      "sets of draws.",
      {"largest distance at the longest L over that at L = 10, within two standard errors",
       found.distance_left, kShareLeft});
}

}  // namespace largo::claims
