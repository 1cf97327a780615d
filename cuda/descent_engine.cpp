#include "descent_engine.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <memory>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "descent_kernel.hpp"
#include "descent_sharing.hpp"
#include "descent_staging.hpp"
#include "largo/icl/regression_maps.hpp"
#include "largo/runtime/check.hpp"
#include "prompts/prompt_layout.hpp"
#include "prompts/token_source.hpp"
#include "runtime.hpp"
#include "staged_laws.hpp"

namespace largo::cuda {
namespace {

constexpr const char* kName = "train";
// The time that a launch should take: stops and progress wait for its end.
constexpr double kLaunchSeconds = 0.15;
// Limits of the first launch, when its speed is not known: its steps, and the tokens in these.
constexpr std::int64_t kFirstSpan = 64;
constexpr double kFirstTokens = 1e9;

class Descents {
 public:
  Descents(const RegressionProblem& problem, Parametrisation parameters, const DescentOptions& options,
           std::vector<icl::RegressionDescent>& descents)
      : problem_(problem),
        dimension_(dimension_of(problem, descents.front())),
        map_(map_of(parameters, dimension_)),
        options_(options),
        descents_(descents) {
    check_possible();
    for (icl::RegressionDescent& descent : descents_) {
      // This makes the checks of the CPU's descent, and the moments of a start.
      DescentOptions none = quiet_options();
      none.steps = descent.state.step;
      descent.state = largo::descend(*risk_of(descent), std::move(descent.state), none);
    }
    if (descents_.front().prompts) {
      laws_.emplace(kName, *descents_.front().prompts);
      stage_.emplace(*laws_, parameters, options_, descents_);
    } else {
      stage_.emplace(problem.task(), parameters, options_, descents_);
    }
    const Residents residents = resident_blocks(stage_->setting());
    if (residents.blocks == 0) {
      fail(kName, "dimension on this GPU", static_cast<double>(dimension_),
           "smaller, so that a run fits into its shared memory; or train on the CPU");
    }
    groups_ = share_chip(descents_, residents);
    while (streams_.size() < groups_.size()) streams_.emplace_back();
    double work = 0;
    for (const icl::RegressionDescent& descent : descents_) work += cost_of(descent.batches);
    const auto prompts = static_cast<double>(descents_.front().batches.prompts);
    span_ = static_cast<std::int64_t>(std::clamp(kFirstTokens / (work * prompts), 1.0, double{kFirstSpan}));
  }

  void run() {
    std::vector<std::int64_t> first_steps;
    for (const icl::RegressionDescent& descent : descents_) first_steps.push_back(descent.state.step);
    for (;;) {
      if (stop_asked()) {
        save_all(first_steps);
        throw Stopped();
      }
      const std::int64_t first = first_step();
      if (first >= options_.steps) break;
      if (has_refused_length()) return;
      if (!launch_from(first)) return save_all(first_steps);
      if (options_.progress) options_.progress(share_done());
    }
    save_all(first_steps);
    if (options_.progress) options_.progress(1);
  }

 private:
  // The number of covariates: tokens and queries have a label, too.
  static Eigen::Index dimension_of(const RegressionProblem& problem, const icl::RegressionDescent& descent) {
    if (!descent.prompts) return problem.dimension();
    return descent.prompts->task->token_dimension() - 1;
  }

  void check_possible() const {
    if (dimension_ > kMostDimensions) {
      fail(kName, "dimension on a GPU", static_cast<double>(dimension_),
           fmt::format("at most {}; train larger ones on the CPU", kMostDimensions));
    }
    for (const icl::RegressionDescent& descent : descents_) {
      const RegressionBatches &batches = descent.batches, &first = descents_.front().batches;
      if (descent.prompts) check_device_task(kName, *descent.prompts);
      if (batches.random_length)
        fail(kName, "prompts of random length are not drawn on a GPU: train on the CPU");
      if (!descent.prompts && batches.kernel != PromptKernel::collapsed) {
        fail(kName, "kernel on a GPU", "full", "collapsed, which draws the same law; or train on the CPU");
      }
      if (batches.prompts != first.prompts || batches.loss_factor != first.loss_factor) {
        fail(kName, "runs that go to a GPU together need batches of the same size and the same loss");
      }
    }
  }

  // The limits are the CPU's, and its message is the one to give.
  bool has_refused_length() {
    for (icl::RegressionDescent& descent : descents_) {
      const bool softmax = descent.batches.attention == AttentionKind::softmax;
      if (descent.batches.length < (softmax ? prompts::kMostTokens : prompts::kMostLinear)) continue;
      refuse(descent);
      return true;
    }
    return false;
  }

  DescentOptions quiet_options() const {
    DescentOptions options = options_;
    options.checkpoint.clear();
    options.checkpoint_every = 0;
    options.progress = {};
    options.execution = {};
    return options;
  }

  std::shared_ptr<const StochasticRisk> risk_of(const icl::RegressionDescent& descent) const {
    return in_parameters(icl::batches_of(problem_, descent), map_);
  }

  bool stop_asked() const {
    return options_.execution.stop != nullptr && options_.execution.stop->load(std::memory_order_relaxed);
  }

  std::int64_t first_step() const {
    std::int64_t first = options_.steps;
    for (const icl::RegressionDescent& descent : descents_) first = std::min(first, descent.state.step);
    return first;
  }

  // Where a run that starts at `step` ends: at `until` at the latest, before it runs out of room for records,
  // and where it must be saved.
  std::int64_t end_of(std::int64_t step, std::int64_t until) const {
    if (options_.record_every > 0) {
      const std::int64_t whole = step / options_.record_every, more = stage_->setting().most_records - 1;
      if (more < std::numeric_limits<std::int64_t>::max() / options_.record_every - whole) {
        until = std::min(until, (whole + more) * options_.record_every);
      }
    }
    if (options_.checkpoint_every > 0) {
      until = std::min(until, (step / options_.checkpoint_every + 1) * options_.checkpoint_every);
    }
    return std::max(step, until);
  }

  // Returns false if a run has ended with an error.
  bool launch_from(std::int64_t first) {
    const auto start = std::chrono::steady_clock::now();
    std::int64_t until = std::min(options_.steps, first + span_);
    std::vector<double> sizes;
    for (std::int64_t k = first; k < until; ++k) {
      const double size = options_.step_size(k);
      if (!(size >= 0 && std::isfinite(size))) {
        until = k;
        break;
      }
      sizes.push_back(size);
    }
    if (until == first) return refuse_first(first);
    stage_->set_steps(first, sizes);

    std::vector<DescentRun> runs;
    for (const DescentGroup& group : groups_) {
      for (const std::size_t i : group.runs) {
        runs.push_back(DescentStage::run_of(i, descents_[i], end_of(descents_[i].state.step, until)));
      }
    }
    DescentRun* next = stage_->send(runs);
    for (std::size_t k = 0; k < groups_.size(); ++k) {
      const auto count = static_cast<int>(groups_[k].runs.size());
      check(launch_descents(stage_->setting(), next, count, groups_[k].shape, streams_[k].get()),
            "launch of descents");
      next += count;
    }
    check(cudaDeviceSynchronize(), "descents");
    stage_->fetch(runs);
    bool all_well = true;
    for (const DescentRun& run : runs) all_well = take(run) && all_well;
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
    std::int64_t made = 1;  // less than span_ if runs are saved on the way
    for (const icl::RegressionDescent& descent : descents_) made = std::max(made, descent.state.step - first);
    const double faster = std::clamp(kLaunchSeconds / elapsed.count(), 0.25, 4.0);
    span_ = std::clamp<std::int64_t>(static_cast<std::int64_t>(static_cast<double>(made) * faster), 1,
                                     options_.steps);
    return all_well;
  }

  // Returns false if the run has ended with an error.
  bool take(const DescentRun& run) {
    icl::RegressionDescent& descent = descents_[static_cast<std::size_t>(run.place)];
    DescentState& state = descent.state;
    const std::int64_t before = state.step;
    stage_->take(run, state);
    switch (run.ending) {
      case Ending::in_order:
        if (options_.checkpoint_every > 0 && state.step > before && state.step < options_.steps &&
            state.step % options_.checkpoint_every == 0) {
          save(descent);
        }
        return true;
      case Ending::refused: refuse(descent); return false;
      case Ending::not_finite:
        descent.error = std::make_exception_ptr(Diverged(state.step, "the parameters are no longer finite"));
        return false;
    }
    return true;
  }

  // Sets the exception that the CPU throws for this step.
  void refuse(icl::RegressionDescent& descent) const {
    DescentOptions one = quiet_options();
    one.steps = descent.state.step + 1;
    try {
      largo::descend(*risk_of(descent), descent.state, one);
      fail(kName, fmt::format("the GPU refuses step {} of a descent and the CPU does not: please report this",
                              descent.state.step));
    } catch (...) {
      descent.error = std::current_exception();
    }
  }

  bool refuse_first(std::int64_t first) {
    for (icl::RegressionDescent& descent : descents_) {
      if (descent.state.step == first) {
        refuse(descent);
        return false;
      }
    }
    return false;
  }

  static void record_end(DescentState& state) {
    if (!state.records.empty() && state.records.back().step == state.step) return;
    const double loss = state.loss_count > 0 ? state.loss_sum / static_cast<double>(state.loss_count) : 0;
    state.records.push_back({state.step, state.time, state.parameters, loss});
    state.loss_sum = 0;
    state.loss_count = 0;
  }

  // Saves the runs that had steps to make and did not fail, with a record of the end if they reached it.
  void save_all(const std::vector<std::int64_t>& first_steps) {
    for (std::size_t i = 0; i < descents_.size(); ++i) {
      icl::RegressionDescent& descent = descents_[i];
      if (descent.error || first_steps[i] >= options_.steps) continue;
      if (descent.state.step >= options_.steps) record_end(descent.state);
      save(descent);
    }
  }

  static void save(const icl::RegressionDescent& descent) {
    if (!descent.checkpoint.empty()) save_descent(descent.checkpoint, descent.state);
  }

  double share_done() const {
    double done = 0, all = 0;
    for (const icl::RegressionDescent& descent : descents_) {
      done += cost_of(descent.batches) * static_cast<double>(descent.state.step);
      all += cost_of(descent.batches) * static_cast<double>(options_.steps);
    }
    return done / all;
  }

  const RegressionProblem& problem_;
  Eigen::Index dimension_;
  std::shared_ptr<const ParameterMap> map_;
  const DescentOptions& options_;
  std::vector<icl::RegressionDescent>& descents_;
  std::optional<StagedLaws> laws_;
  std::optional<DescentStage> stage_;
  std::vector<DescentGroup> groups_;
  std::vector<Stream> streams_;
  std::int64_t span_ = kFirstSpan;
};

}  // namespace

void CudaDescents::descend(const RegressionProblem& problem, Parametrisation parameters,
                           const DescentOptions& options, std::vector<icl::RegressionDescent>& runs) const {
  if (runs.empty()) return;
  check(cudaSetDevice(device_), "choice of the GPU");  // for this thread
  Descents(problem, parameters, options, runs).run();
}

}  // namespace largo::cuda
