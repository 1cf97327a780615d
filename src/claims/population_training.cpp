#include "claims/population_training.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <memory>
#include <utility>

#include <fmt/core.h>

#include "claims/claims.hpp"
#include "claims/trained_regression.hpp"
#include "largo/icl/prompt_risk.hpp"
#include "largo/icl/regression_maps.hpp"

namespace largo::claims {
namespace {

constexpr double kStartSize = 0.8;
constexpr std::int64_t kRecords = 12;
constexpr std::uint64_t kTestSeeds = 1000003;  // what the seeds of tests are ahead of those of training

struct HeadParameters {
  std::shared_ptr<const ParameterMap> map;
  Vector start;
};

HeadParameters usual_parameters(const PromptTask& task) {
  const Eigen::Index m = task.output_dimension(), n = task.token_dimension(), d = n - m;
  const Matrix A = kStartSize / std::sqrt(static_cast<double>(d)) * Matrix::Identity(d, d);
  if (m == 1) return {invariant_map(d), parameters_of({A, kStartSize})};
  Matrix U = Matrix::Zero(n, n);
  RowMatrix V = RowMatrix::Zero(m, n);
  U.topLeftCorner(d, d) = A;
  V.rightCols(m).diagonal().setConstant(kStartSize);
  Vector start(U.size() + V.size());
  start << U.reshaped(), V.reshaped<Eigen::RowMajor>();
  return {identity_map(start.size()), start};
}

// One descent: its records, and the risks there (or at the end alone) on fresh prompts.
struct PopulationRun {
  std::vector<DescentRecord> records;
  std::vector<double> risks;
};

struct PopulationJob {
  double L = 0;
  std::uint64_t seed = 0;
};

PopulationRun population_run(const PopulationProblem& given, const PopulationPlan& plan, RisksAlong along,
                             const PopulationJob& job, const Execution& execution) {
  const bool infinite = std::isinf(job.L);
  const InContextProblem& trained = infinite ? given.of_limit : given.problem;
  const HeadParameters head = usual_parameters(*trained.task);
  PromptSetting setting{.task = trained.task,
                        .loss = trained.loss,
                        .length = job.L,
                        .score_scale = trained.score_scale,
                        .seed = job.seed};
  const auto batches =
      in_parameters(std::make_shared<const PromptBatches>(setting, plan.batch, execution), head.map);
  DescentState start;
  start.parameters = head.start;
  const DescentState end = descend(*batches, std::move(start),
                                   {.step_size = constant_steps(plan.step_size),
                                    .steps = plan.steps,
                                    .record_every = std::max<std::int64_t>(1, plan.steps / kRecords),
                                    .execution = execution});
  setting.task = given.problem.task;
  setting.loss = given.problem.loss;
  setting.seed = job.seed + kTestSeeds;
  const PromptRisk tests(setting, plan.tests, execution);
  PopulationRun run{end.records, {}};
  for (const DescentRecord& record : run.records) {
    if (along == RisksAlong::yes || &record == &run.records.back()) {
      run.risks.push_back(tests.at(head.map->map(record.parameters)).value);
    }
  }
  return run;
}

PlainMean over_seeds_of(const std::vector<double>& values) {
  return mean_of(values, [](double value) { return value; });
}

Curve risks_along(std::string label, int color, const std::vector<PopulationRun>& runs, std::size_t first,
                  std::size_t seeds) {
  Curve curve{.label = std::move(label), .color = color};
  for (std::size_t k = 0; k < runs[first].records.size(); ++k) {
    std::vector<double> risks;
    for (std::size_t i = first; i < first + seeds; ++i) risks.push_back(runs[i].risks[k]);
    add_point(curve, runs[first].records[k].time, over_seeds_of(risks));
  }
  return curve;
}

// From the excesses of each seed, which share their tests over all lengths.
PlainMean exponent_of(const std::vector<double>& first, const std::vector<double>& last, double ratio) {
  std::vector<double> exponents;
  for (std::size_t k = 0; k < first.size(); ++k) {
    if (!(first[k] > 0 && last[k] > 0)) return {0, kInfinity};
    exponents.push_back(std::log(first[k] / last[k]) / std::log(ratio));
  }
  return over_seeds_of(exponents);
}

}  // namespace

PopulationResult train_on_population(const PopulationProblem& problem, const PopulationPlan& plan,
                                     RisksAlong along, const ClaimOptions& options) {
  std::vector<PopulationJob> jobs;  // the longest first, so that threads end together
  const auto seeds = static_cast<std::size_t>(plan.seeds);
  const auto add_jobs = [&](double L) {
    for (std::size_t k = 0; k < seeds; ++k) jobs.push_back({L, options.seed + k});
  };
  for (std::size_t i = plan.lengths.size(); i-- > 0;) add_jobs(plan.lengths[i]);
  add_jobs(kInfinity);
  const std::vector<PopulationRun> runs =
      side_by_side(jobs, options.execution, [&](const PopulationJob& job, const Execution& execution) {
        return population_run(problem, plan, along, job, execution);
      });
  const std::size_t limit = plan.lengths.size() * seeds;
  PopulationResult result;
  std::vector<std::vector<double>> excesses_at;
  for (std::size_t i = 0; i < plan.lengths.size(); ++i) {
    const std::size_t first = (plan.lengths.size() - 1 - i) * seeds;
    std::vector<double> excesses, distances;
    for (std::size_t k = 0; k < seeds; ++k) {
      const PopulationRun &run = runs[first + k], &at_limit = runs[limit + k];
      excesses.push_back(run.risks.back() - at_limit.risks.back());
      double distance = 0;
      for (std::size_t r = 0; r < run.records.size(); ++r) {
        distance = larger(distance, (run.records[r].parameters - at_limit.records[r].parameters).norm());
      }
      distances.push_back(distance);
    }
    result.rows.push_back({plan.lengths[i], over_seeds_of(excesses), over_seeds_of(distances)});
    excesses_at.push_back(std::move(excesses));
    if (along == RisksAlong::no) continue;
    result.along.push_back(risks_along(fmt::format("L = {}", report::shown(plan.lengths[i])),
                                       static_cast<int>(i), runs, first, seeds));
  }
  if (along == RisksAlong::yes) {
    result.along.push_back(risks_along("L = ∞", 7, runs, limit, seeds));
    result.along.back().style = Curve::Style::dashed;
  }
  for (std::size_t k = 0; k < seeds; ++k) {
    result.limit_risk += runs[limit + k].risks.back() / static_cast<double>(seeds);
  }
  result.exponent =
      exponent_of(excesses_at.front(), excesses_at.back(), plan.lengths.back() / plan.lengths.front());
  return result;
}

double largest_share_left(const PlainMean& first, const PlainMean& last) {
  const double least = first.value - kSeedErrors * first.error;
  return least > 0 ? (last.value + kSeedErrors * last.error) / least : kInfinity;
}

}  // namespace largo::claims
