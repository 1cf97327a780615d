#include "icl/training/training_state.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "runtime/distribute.hpp"

namespace largo::icl {

void set_length(RegressionBatches& batches, const LengthLaw& L) {
  batches.random_length.reset();
  if (L.is_one_length()) {
    batches.length = static_cast<std::int64_t>(L.longest());
  } else {
    batches.random_length = L;
  }
}

bool flows_have_seeds(const TrainingPlan& plan) {
  return plan.other || plan.parameters != Parametrisation::invariant;
}

std::vector<TrainingState> states_of(const TrainingPlan& plan) {
  std::vector<TrainingState> states;
  for (const TrainingMethod method : plan.methods) {
    const bool flow = method == TrainingMethod::flow;
    const std::int64_t seeds = flow && !flows_have_seeds(plan) ? 1 : plan.seeds;
    for (const AttentionKind attention : plan.attention) {
      for (const LengthLaw& L : plan.lengths) {
        if (!flow && L.is_infinite()) continue;
        for (std::int64_t seed = 0; seed < seeds; ++seed) {
          states.push_back({method, attention, L, static_cast<std::size_t>(seed)});
          if (flow) {
            if (!L.is_infinite()) states.back().cost_of_flow = cost_of_flow(plan, L);
            continue;
          }
          TrainingState& state = states.back();
          state.descent.batches = plan.batches;
          set_length(state.descent.batches, L);
          state.descent.batches.attention = attention;
          state.descent.batches.seed += static_cast<std::uint64_t>(seed);
        }
      }
    }
  }
  return states;
}

double cost_of_flow(const TrainingPlan& plan, const LengthLaw& L) {
  if (!plan.other) return 0;
  constexpr double kEvaluations = 2000, kTiltInTokens = 200;
  const double prompts = kEvaluations * static_cast<double>(plan.prompts);
  const double steps = static_cast<double>(plan.descent.steps) * static_cast<double>(plan.batches.prompts);
  return prompts / steps * (L.is_infinite() ? kTiltInTokens : kTiltInTokens + L.mean());
}

double cost_of(const TrainingState& state) {
  return state.method == TrainingMethod::flow ? state.cost_of_flow : cost_of(state.descent.batches);
}

std::vector<std::size_t> order_of(const std::vector<TrainingState>& states) {
  std::vector<std::size_t> order(states.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    const bool flow_a = states[a].method == TrainingMethod::flow,
               flow_b = states[b].method == TrainingMethod::flow;
    return flow_a != flow_b ? flow_a : states[a].L.mean() > states[b].L.mean();
  });
  return order;
}

std::vector<int> owners_of(const std::vector<TrainingState>& states, const Execution& execution) {
  std::vector<int> owners(states.size(), 0);
  if (execution.ranks == nullptr) return owners;
  const int processes = execution.ranks->size();
  for (const TrainingMethod method : {TrainingMethod::flow, TrainingMethod::descent}) {
    const bool flows = method == TrainingMethod::flow;
    std::vector<std::size_t> which;
    std::vector<double> costs;
    for (std::size_t i = 0; i < states.size(); ++i) {
      if (states[i].method != method) continue;
      which.push_back(i);
      costs.push_back(flows ? 1 : cost_of(states[i]));
    }
    const std::vector<int> dealt = runtime::deal(costs, processes);
    // The first processes have the most expensive descents, so flows begin with the last ones.
    for (std::size_t k = 0; k < which.size(); ++k) {
      owners[which[k]] = flows ? processes - 1 - dealt[k] : dealt[k];
    }
  }
  return owners;
}

}  // namespace largo::icl
