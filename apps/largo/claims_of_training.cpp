// The claims about training in-context regression: the limit of infinite prompts, and how finite ones follow.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <vector>

#include <fmt/core.h>

#include "claims.hpp"
#include "largo/icl/parameter_maps.hpp"
#include "largo/icl/prompt_risk.hpp"
#include "largo/icl/published_experiment.hpp"
#include "largo/icl/regression_task_sampler.hpp"
#include "largo/icl/regression_training.hpp"
#include "largo/icl/threshold.hpp"
#include "largo/measures/named_law.hpp"
#include "largo/measures/named_matrix.hpp"
#include "largo/sampling/streams.hpp"

namespace largo {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kLimitTolerance = 1e-6;

// Eigenvalues from 1 down to 1/condition in a random basis.
Matrix random_covariance(Eigen::Index d, double condition, const Stream& stream) {
  Matrix normals(d, d);
  stream.normals(0, {normals.data(), static_cast<std::size_t>(normals.size())});
  Matrix S = Matrix::Zero(d, d);
  Matrix basis = normals;
  for (Eigen::Index j = 0; j < d; ++j) {  // Gram and Schmidt
    for (Eigen::Index k = 0; k < j; ++k) basis.col(j) -= basis.col(k).dot(basis.col(j)) * basis.col(k);
    basis.col(j).normalize();
    S +=
        std::pow(condition, -static_cast<double>(j) / static_cast<double>(std::max<Eigen::Index>(1, d - 1))) *
        basis.col(j) * basis.col(j).transpose();
  }
  return 0.5 * (S + S.transpose());
}

Json limit_json(const ClaimOptions& options) {
  Json claim = new_claim(
      "infinite-limit",
      "From every admissible start the flow of the infinite prompt ends at A = tr(Σ^-2)^(-1/4) Σ^-1, b = "
      "tr(Σ^-2)^(1/4), the global minimum, and keeps |A|^2 - b^2.",
      "Random covariances of condition up to 100 in 2 to 10 dimensions, random Theta, alpha uniform in the "
      "admissible range; flow by CVODE to stationarity.");
  const int starts = options.quick ? 10 : options.full ? 100 : 30;
  double error = 0, drift = 0, risk = 0;
  for (int i = 0; i < starts; ++i) {
    const Stream stream = Stream(options.seed, 77).substream(static_cast<std::uint64_t>(i));
    double uniforms[3];
    stream.substream(0).uniforms(0, uniforms);
    const auto d = static_cast<Eigen::Index>(2 + std::floor(9 * uniforms[0]));
    const RegressionProblem problem =
        paper_problem(random_covariance(d, std::pow(100, uniforms[1]), stream.substream(1)));
    Matrix theta(d, d);
    stream.substream(2).normals(0, {theta.data(), static_cast<std::size_t>(theta.size())});
    const double alpha = std::max(0.05, uniforms[2]) * largest_admissible_alpha(problem);
    const RegressionFlow flow = regression_flow(problem, AttentionKind::softmax, kInfinity,
                                                paper_start(problem, alpha, theta), {}, options.execution);
    const InvariantPoint limit = infinite_limit(problem);
    error = std::max(error, std::hypot((flow.last.A - limit.A).norm(), flow.last.b - limit.b));
    drift = std::max(drift, flow.flow.drift.back());
    risk = std::max(risk, flow.flow.last.value);
  }
  claim["starts"] = starts;
  claim["largest_distance"] = error;
  claim["largest_drift"] = drift;
  claim["largest_risk"] = risk;
  claim["tolerance"] = kLimitTolerance;
  return with_verdict(claim, error <= kLimitTolerance);
}

void print_limit(const Json& claim) {
  print_head("Training on infinite prompts (Theorem 5.1)", claim);
  fmt::print("  {} starts: largest distance from (A, b) {:.1e}, change of |A|^2 - b^2 {:.1e}, risk {:.1e}\n",
             claim["starts"].get<int>(), claim["largest_distance"].get<double>(),
             claim["largest_drift"].get<double>(), claim["largest_risk"].get<double>());
  print_verdict(claim);
}

Json transfer_json(const ClaimOptions& options) {
  Json claim = new_claim(
      "transfer",
      "For every epsilon there is L(epsilon) such that training on prompts of at least that length ends "
      "within epsilon of the infinite prompt; on a finite horizon the trajectories are uniformly close.",
      "Gradient flow on the exact risk, d = 5, identity covariances, alpha half of the admissible range: "
      "distances up to t = 5, trained risks to the end, and L(epsilon) by bracketing.");
  const RegressionProblem problem = paper_problem(Matrix::Identity(5, 5));
  const InvariantPoint start = paper_start(problem, 0.5 * largest_admissible_alpha(problem));
  const RegressionFlow limit = regression_flow(problem, AttentionKind::softmax, kInfinity, start);
  bool holds = true;
  double before = kInfinity, risk_before = kInfinity;
  for (const double L : {1e1, 1e2, 1e3, 1e4, 1e6, 1e9}) {
    const RegressionFlow flow =
        regression_flow(problem, AttentionKind::softmax, L, start, {}, options.execution);
    const FlowDistance distance = flow_distance(problem, flow, limit, 5);
    claim["rows"].push_back({{"L", L},
                             {"risk", flow.flow.last.value},
                             {"parameters", distance.parameters.value},
                             {"predictions", distance.predictions.value},
                             {"gradients", distance.gradients.value}});
    holds = holds && distance.parameters.value < before && flow.flow.last.value < risk_before;
    before = distance.parameters.value;
    risk_before = flow.flow.last.value;
  }
  for (const double epsilon : {1e-1, 1e-2, 1e-3}) {
    const Threshold found = threshold(problem, epsilon, start, {}, options.execution);
    claim["thresholds"].push_back(
        {{"epsilon", epsilon}, {"L", found.L}, {"risk", found.risk}, {"risk_before", found.before.risk}});
    holds = holds && found.risk <= found.limit + epsilon && found.before.risk > found.limit + epsilon;
  }
  return with_verdict(claim, holds);
}

void print_transfer(const Json& claim) {
  print_head("From infinite to finite prompts (Theorems 4.3 and 5.2)", claim);
  fmt::print("  {:>8} {:>14}   {:>24} {:>13} {:>13}\n", "L", "trained risk", "up to t = 5: parameters",
             "predictions", "gradients");
  for (const Json& row : claim["rows"]) {
    fmt::print("  {:>8.0e} {:>14.6e}   {:>24.4e} {:>13.4e} {:>13.4e}\n", row["L"].get<double>(),
               row["risk"].get<double>(), row["parameters"].get<double>(), row["predictions"].get<double>(),
               row["gradients"].get<double>());
  }
  for (const Json& row : claim["thresholds"]) {
    fmt::print("  L({}) = {:.0f}: risk {:.6g}, and {:.6g} with a token less\n", row["epsilon"].get<double>(),
               row["L"].get<double>(), row["risk"].get<double>(), row["risk_before"].get<double>());
  }
  print_verdict(claim);
}

// A descent is as good as its flow when its risk differs by a few times what it fluctuates.
constexpr double kSpreads = 4;

// The runs of one convention of the data.
std::vector<TrainingRun> published_runs(PublishedData data, const ClaimOptions& options) {
  TrainingPlan plan;
  plan.problem = published_problem(data);
  plan.parameters = Parametrisation::factored;
  plan.start = random_factored_start(5, options.seed);
  plan.attention = {AttentionKind::softmax, AttentionKind::linear};
  plan.lengths = published_lengths();
  plan.batches.loss_factor = 1;
  plan.batches.seed = options.seed;
  plan.batches.prompts = kPublishedBatch;
  const double time = kPublishedStepSize * static_cast<double>(kPublishedSteps);
  plan.flow.end = 2 * time;
  plan.flow.relative_tolerance = 1e-5;
  plan.flow.absolute_tolerance = 1e-8;
  plan.descent.steps = options.full ? kPublishedSteps : kPublishedSteps / 100;
  plan.descent.step_size = constant_steps(time / static_cast<double>(plan.descent.steps));
  plan.descent.record_every = plan.descent.steps / 100;
  plan.methods = {TrainingMethod::flow, TrainingMethod::descent};
  if (!options.full) plan.lengths = {10, 100};
  std::vector<TrainingRun> runs = train(plan, options.execution);
  if (!options.full && !options.quick) {  // the flows at the other lengths
    plan.methods = {TrainingMethod::flow};
    plan.lengths.clear();
    for (const double L : published_lengths()) {
      if (L != 10 && L != 100) plan.lengths.push_back(L);
    }
    for (TrainingRun& run : train(plan, options.execution)) runs.push_back(std::move(run));
  }
  return runs;
}

Json published_json(const ClaimOptions& options) {
  Json claim = new_claim(
      "published",
      "Stochastic training at finite L follows the exact flow: the published experiment, softmax and linear, "
      "with data as in the paper and as in its code.",
      options.full
          ? "K, Q, V and the output row, 300,000 steps of 1e-3 with 128 prompts, 19 lengths, beside the "
            "flow on the exact risk."
          : "K, Q, V and the output row: the flow on the exact risk at 19 lengths; stochastic descent "
            "with a hundredth of the steps, each 100 times as long, at some of them (all of it: --full).");
  bool holds = true;
  double farthest = 0;
  for (const PublishedData data : {PublishedData::paper, PublishedData::code}) {
    if (options.quick && data == PublishedData::code) continue;
    for (const TrainingRun& run : published_runs(data, options)) {
      Json row{{"data", data == PublishedData::paper ? "paper" : "code"},
               {"L", run.L},
               {"attention", run.attention == AttentionKind::softmax ? "softmax" : "linear"},
               {"method", run.method == TrainingMethod::flow ? "flow" : "sgd"},
               {"risk", run.final_risk.value},
               {"error", run.final_risk.error}};
      if (run.noise) {
        row["excess"] = run.noise->excess;
        row["spread"] = run.noise->spread;
        const double spreads = std::abs(run.noise->excess) / run.noise->spread;
        farthest = std::max(farthest, spreads);
        holds = holds && spreads <= kSpreads;
      }
      claim["rows"].push_back(std::move(row));
    }
  }
  claim["spreads"] = kSpreads;
  claim["largest_spreads"] = farthest;
  return with_verdict(claim, holds);
}

void print_published(const Json& claim) {
  print_head("The published experiment", claim);
  for (const Json& row : claim["rows"]) {
    const double L = row["L"].get<double>();
    const bool sgd = row["method"] == "sgd";
    if (!sgd && L != 10 && L != 100 && L != 1000) continue;
    fmt::print("  {:<5} L = {:<5g} {:<8} {:<5} risk {:.6f}", row["data"].get<std::string>(), L,
               row["attention"].get<std::string>(), row["method"].get<std::string>(),
               row["risk"].get<double>());
    if (sgd) {
      fmt::print(", beside the flow's {:+.1e}, spread {:.1e}", row["excess"].get<double>(),
                 row["spread"].get<double>());
    }
    fmt::print("\n");
  }
  print_verdict(claim);
}

// Of gradient flow on the same draws, up to this time, from A = 0.8 I/√2, b = 0.8.
constexpr double kHorizon = 6;

FlowResult flow_of(const PromptTaskPtr& task, double L, std::uint64_t seed, const Execution& execution) {
  constexpr std::int64_t kDraws = 64;
  const PromptSetting setting{task, squared_loss(), L, AttentionKind::softmax, 1, seed};
  const auto risk =
      in_parameters(std::make_shared<const PromptRisk>(setting, kDraws, execution), invariant_map(2));
  Vector start(5);
  start << Matrix(0.8 / std::numbers::sqrt2 * Matrix::Identity(2, 2)).reshaped(), 0.8;
  FlowPlan plan;
  plan.end = kHorizon;
  plan.method = FlowMethod::krylov;
  plan.relative_tolerance = 1e-4;
  plan.absolute_tolerance = 1e-6;
  return gradient_flow(*risk, start, plan, execution);
}

Json covariates_json(const ClaimOptions& options) {
  Json claim =
      new_claim("other-covariates",
                "With covariates that are not Gaussian, training on prompts of L tokens converges to the "
                "infinite-prompt "
                "flow of their law as L grows.",
                "In-context regression in two dimensions, 64 tasks with common draws at all lengths, "
                "gradient flow up to "
                "t = 6: largest distance of (A, b), mean and standard error over four sets of draws.");
  constexpr int kSets = 4;
  Execution execution = options.execution;
  execution.ranks = nullptr;
  bool holds = true;
  for (const char* name : {"rademacher", "uniform:width=1.7320508", "sphere:radius=1.41421356"}) {
    const auto task = std::make_shared<RegressionTaskSampler>(
        RegressionLaws{named_law(name, 2), nullptr, Matrix::Identity(2, 2), nullptr});
    std::vector<FlowResult> limits;
    for (std::uint64_t set = 0; set < kSets; ++set) {
      limits.push_back(flow_of(task, kInfinity, options.seed + set, execution));
    }
    Json law{{"law", name}};
    double first = 0, first_error = 0, mean = 0, error = 0;
    const std::vector<double> lengths =
        options.quick ? std::vector<double>{10, 100} : std::vector<double>{10, 100, 1000};
    for (const double L : lengths) {
      std::vector<double> distances;
      for (std::uint64_t set = 0; set < kSets; ++set) {
        const FlowResult flow = flow_of(task, L, options.seed + set, execution);
        distances.push_back(
            largest_distance(flow.trajectory, limits[static_cast<std::size_t>(set)].trajectory, kHorizon)
                .value);
      }
      mean = error = 0;
      for (const double x : distances) mean += x / kSets;
      for (const double x : distances) error += (x - mean) * (x - mean) / (kSets * (kSets - 1));
      error = std::sqrt(error);
      law["rows"].push_back({{"L", L}, {"distance", mean}, {"error", error}});
      if (L == 10) first = mean, first_error = error;
    }
    // At least like L^-1/2, within the error bars.
    holds = holds && mean - 2 * error <= (first + 2 * first_error) * std::sqrt(10 / lengths.back());
    claim["laws"].push_back(std::move(law));
  }
  return with_verdict(claim, holds);
}

void print_covariates(const Json& claim) {
  print_head("Other covariates", claim);
  for (const Json& law : claim["laws"]) {
    fmt::print("  {:<26}", law["law"].get<std::string>());
    for (const Json& row : law["rows"]) {
      fmt::print("  L = {:g}: {:.3f} ± {:.3f}", row["L"].get<double>(), row["distance"].get<double>(),
                 row["error"].get<double>());
    }
    fmt::print("\n");
  }
  print_verdict(claim);
}

}  // namespace

Claim infinite_limit_claim(const ClaimOptions& options) { return {limit_json(options), print_limit}; }
Claim transfer_claim(const ClaimOptions& options) { return {transfer_json(options), print_transfer}; }
Claim published_claim(const ClaimOptions& options) { return {published_json(options), print_published}; }
Claim other_covariates_claim(const ClaimOptions& options) {
  return {covariates_json(options), print_covariates};
}

}  // namespace largo
