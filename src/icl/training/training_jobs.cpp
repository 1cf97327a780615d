#include "icl/training/training_jobs.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "runtime/distribute.hpp"

namespace largo {
namespace {

constexpr double kCostOfPrompt = 100;  // beside its tokens, in tokens

}  // namespace

bool flows_have_seeds(const TrainingPlan& plan) { return plan.parameters != Parametrisation::invariant; }

std::vector<TrainingJob> jobs_of(const TrainingPlan& plan) {
  std::vector<TrainingJob> jobs;
  for (const TrainingMethod method : plan.methods) {
    const bool flow = method == TrainingMethod::flow;
    const std::int64_t seeds = flow && !flows_have_seeds(plan) ? 1 : plan.seeds;
    for (const AttentionKind attention : plan.attention) {
      for (const double L : plan.lengths) {
        if (!flow && std::isinf(L)) continue;
        for (std::int64_t seed = 0; seed < seeds; ++seed) {
          jobs.push_back({method, attention, L, static_cast<std::size_t>(seed)});
        }
      }
    }
  }
  return jobs;
}

double cost_of(const TrainingJob& job) {
  if (job.method == TrainingMethod::flow) return 0;
  return kCostOfPrompt + (job.attention == AttentionKind::softmax ? job.L : 0);
}

std::vector<std::size_t> order_of(const std::vector<TrainingJob>& jobs) {
  std::vector<std::size_t> order(jobs.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    const bool flow_a = jobs[a].method == TrainingMethod::flow,
               flow_b = jobs[b].method == TrainingMethod::flow;
    return flow_a != flow_b ? flow_a : jobs[a].L > jobs[b].L;
  });
  return order;
}

std::vector<int> owners_of(const std::vector<TrainingJob>& jobs, const Execution& execution) {
  std::vector<int> owners(jobs.size(), 0);
  if (execution.ranks == nullptr) return owners;
  const int processes = execution.ranks->size();
  for (const TrainingMethod method : {TrainingMethod::flow, TrainingMethod::descent}) {
    const bool flows = method == TrainingMethod::flow;
    std::vector<std::size_t> which;
    std::vector<double> costs;
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      if (jobs[i].method != method) continue;
      which.push_back(i);
      costs.push_back(flows ? 1 : cost_of(jobs[i]));
    }
    const std::vector<int> dealt = deal(costs, processes);
    // The first processes have the dearest descents: flows begin with the last ones.
    for (std::size_t k = 0; k < which.size(); ++k) {
      owners[which[k]] = flows ? processes - 1 - dealt[k] : dealt[k];
    }
  }
  return owners;
}

}  // namespace largo
