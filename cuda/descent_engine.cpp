#include "descent_engine.hpp"

#include <algorithm>
#include <bit>
#include <chrono>
#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "collapsed.cuh"
#include "descent_kernel.hpp"
#include "icl/plan_parts.hpp"
#include "largo/icl/regression_training.hpp"
#include "largo/numerics/check.hpp"
#include "numerics/distribute.hpp"
#include "runtime.hpp"

namespace largo::cuda {
namespace {

constexpr const char* kName = "train";
// A launch takes about so long: stops and progress wait for its end.
constexpr double kLaunchSeconds = 0.15;
// Of the first launch, when nothing is known of its speed: so many steps, or steps with so many tokens.
constexpr std::int64_t kFirstSpan = 64;
constexpr double kFirstTokens = 1e9;
// Of a run in a launch, and numbers of them in all.
constexpr std::int64_t kMostRecords = 256;
constexpr std::size_t kRecordNumbers = std::size_t{1} << 26;
constexpr int kMostOctets = 4;
constexpr int kOctetsInBlock = 32;
constexpr std::int64_t kTokensOfAlgebra = 80;  // what a prompt costs beside its tokens, in tokens
constexpr double kStepCost = 30;               // what a step costs beside its prompts, in tokens of each

Parameters kernel_parameters(Parametrisation parameters) {
  switch (parameters) {
    case Parametrisation::invariant:
      return Parameters::invariant;
    case Parametrisation::merged:
      return Parameters::merged;
    case Parametrisation::factored:
      return Parameters::factored;
  }
  return Parameters::merged;
}

Step kernel_step(Optimiser optimiser) {
  return optimiser == Optimiser::plain      ? Step::plain
         : optimiser == Optimiser::momentum ? Step::momentum
                                            : Step::adam;
}

class Descents {
 public:
  Descents(const RegressionProblem& problem, Parametrisation parameters, const DescentOptions& options,
           std::vector<EngineDescent>& descents)
      : problem_(problem),
        task_(problem.task()),
        map_(map_of(parameters, problem.dimension())),
        options_(options),
        descents_(descents) {
    check_possible();
    for (EngineDescent& descent : descents_) {
      // The checks of the CPU's, and the moments of a start.
      DescentOptions none = quiet_options();
      none.steps = descent.state.step;
      descent.state = largo::descend(*risk_of(descent), std::move(descent.state), none);
    }
    set_up(parameters);
    share_out();
  }

  void run() {
    std::vector<std::int64_t> first_steps;
    for (const EngineDescent& descent : descents_) first_steps.push_back(descent.state.step);
    for (;;) {
      if (stop_asked()) {
        for (const EngineDescent& descent : descents_) save(descent);
        throw Stopped();
      }
      const std::int64_t first = first_step();
      if (first >= options_.steps) break;
      if (has_refused_length()) return;
      if (!launch_from(first)) return;
      if (options_.progress) options_.progress(share_done());
    }
    for (std::size_t i = 0; i < descents_.size(); ++i) {
      if (first_steps[i] >= options_.steps) continue;
      record_end(descents_[i].state);
      save(descents_[i]);
    }
    if (options_.progress) options_.progress(1);
  }

 private:
  void check_possible() const {
    if (problem_.dimension() > kMostDimensions) {
      fail(kName, "dimension on a GPU", static_cast<double>(problem_.dimension()),
           fmt::format("at most {}: train larger ones with --device cpu", kMostDimensions));
    }
    for (const EngineDescent& descent : descents_) {
      const RegressionBatches &batches = descent.batches, &first = descents_.front().batches;
      if (batches.kernel != PromptKernel::collapsed) {
        fail(kName, "kernel on a GPU", "full",
             "collapsed, which draws the same law: or train with --device cpu");
      }
      if (batches.prompts != first.prompts || batches.loss_factor != first.loss_factor) {
        fail(kName, "runs that go to a GPU together need batches of the same size and the same loss");
      }
    }
  }

  // The CPU's limits; its message is the one to give.
  bool has_refused_length() {
    for (EngineDescent& descent : descents_) {
      const bool softmax = descent.batches.attention == AttentionKind::softmax;
      if (descent.batches.length < std::int64_t{1} << (softmax ? 40 : 53)) continue;
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

  std::shared_ptr<const StochasticRisk> risk_of(const EngineDescent& descent) const {
    return in_parameters(regression_batches(problem_, descent.batches), map_);
  }

  void set_up(Parametrisation parameters) {
    const auto d = static_cast<int>(problem_.dimension());
    setting_.dimension = d;
    setting_.parameters = kernel_parameters(parameters);
    setting_.optimiser = kernel_step(options_.optimiser);
    const RegressionBatches& batches = descents_.front().batches;
    setting_.prompts = batches.prompts;
    setting_.loss_factor = batches.loss_factor;
    setting_.noise = task_.noise;
    setting_.score_scale = task_.score_scale;
    setting_.momentum = options_.momentum;
    setting_.squares = options_.squares;
    setting_.epsilon = options_.epsilon;
    setting_.divergence_factor = options_.divergence_factor;
    setting_.record_every = options_.record_every;
    std::vector<double> roots;
    for (const Matrix* root : {&task_.token_root, &task_.query_root, &task_.prior_root}) {
      roots.insert(roots.end(), root->data(), root->data() + root->size());
    }
    roots_ = DeviceArray<double>(std::span<const double>(roots));
    setting_.token_root = roots_.data();
    setting_.query_root = roots_.data() + d * d;
    setting_.prior_root = roots_.data() + 2 * d * d;
    count_ = parameter_count(d, setting_.parameters);
    const std::size_t runs = descents_.size();
    values_.resize(runs * 3 * count_);
    const std::size_t width = runs * (count_ + kRecordHead);
    setting_.most_records =
        options_.record_every == 0
            ? 1  // that of the start
            : std::clamp<std::int64_t>(static_cast<std::int64_t>(kRecordNumbers / width), 2, kMostRecords);
    records_.resize(static_cast<std::size_t>(setting_.most_records) * width);
    rows_.resize(runs * 2 * block_count(setting_.prompts) * row_width(d));
    host_values_.resize(values_.size());
    setting_.values = values_.data();
    setting_.records = records_.data();
    setting_.rows = rows_.data();
    for (std::size_t i = 0; i < runs; ++i) {
      const DescentState& state = descents_[i].state;
      double* to = host_values_.data() + i * 3 * count_;
      std::copy_n(state.parameters.data(), state.parameters.size(), to);
      std::copy_n(state.momentum.data(), state.momentum.size(), to + count_);
      std::copy_n(state.squares.data(), state.squares.size(), to + 2 * count_);
    }
    values_.write(host_values_);
  }

  static double cost_of(const RegressionBatches& batches) {
    const bool softmax = batches.attention == AttentionKind::softmax;
    return static_cast<double>(kTokensOfAlgebra) + (softmax ? static_cast<double>(batches.length) : 0.0);
  }

  // Blocks of threads of a run: its share of those that are on the device, as a power of two, times `factor`.
  int cluster_of(const RegressionBatches& batches, double fair, int factor, int most) const {
    const auto blocks = static_cast<double>(std::min<std::size_t>(block_count(setting_.prompts), 1 << 20));
    const double wanted = std::clamp(fair * cost_of(batches), 1.0, std::min<double>(most, blocks));
    const int cluster = static_cast<int>(std::bit_floor(static_cast<unsigned>(wanted)));
    return static_cast<int>(std::bit_floor(static_cast<unsigned>(
        std::min({static_cast<double>(cluster * factor), static_cast<double>(most), blocks}))));
  }

  // Prompts of a block are shared by up to four octets, where there are threads and chunks for them.
  int octets_of(const RegressionBatches& batches, int cluster) const {
    if (batches.attention == AttentionKind::linear) return 1;
    const auto blocks = static_cast<std::int64_t>(block_count(setting_.prompts));
    const std::int64_t prompts = (blocks + cluster - 1) / cluster * kPromptsInBlock;
    const std::int64_t chunks = (batches.length + kCollapsedChunk - 1) / kCollapsedChunk;
    int octets = 1;
    while (octets < kMostOctets && 2 * octets * prompts <= kOctetsInBlock && octets < chunks) octets *= 2;
    return octets;
  }

  // The longest runs have the most blocks of threads. Where more are wanted than are on the device at a time,
  // smaller parts fill the last round better.
  void share_out() {
    const Residents residents = resident_blocks(setting_);
    const int most = residents.largest_cluster;
    if (residents.blocks == 0) {
      fail(kName, "dimension on this GPU", static_cast<double>(problem_.dimension()),
           "smaller, for its shared memory to hold a run: or train with --device cpu");
    }
    double work = 0;
    for (const EngineDescent& descent : descents_) work += cost_of(descent.batches);
    const double fair = static_cast<double>(residents.blocks) / work;
    span_ = static_cast<std::int64_t>(
        std::clamp(kFirstTokens / (work * static_cast<double>(setting_.prompts)), 1.0, double{kFirstSpan}));
    int best = 1, blocks = 0;
    double shortest = std::numeric_limits<double>::infinity();
    for (int factor = 1; factor <= most; factor *= 2) {
      int all = 0;
      double longest = 0;
      for (const EngineDescent& descent : descents_) {
        const int cluster = cluster_of(descent.batches, fair, factor, most);
        all += cluster;
        longest = std::max(longest, kStepCost + cost_of(descent.batches) / cluster);
      }
      const double rounds = std::ceil(static_cast<double>(all) / residents.blocks);
      if (rounds * longest >= shortest) continue;
      shortest = rounds * longest;
      best = factor;
      blocks = all;
    }
    for (std::size_t i = 0; i < descents_.size(); ++i) {
      const RegressionBatches& batches = descents_[i].batches;
      const int cluster = cluster_of(batches, fair, best, most);
      groups_[{-cluster, -octets_of(batches, cluster)}].push_back(i);
    }
    apart_ = most > 1 && blocks <= residents.processors;
    device_runs_.resize(descents_.size());
    while (streams_.size() < groups_.size()) streams_.emplace_back();
  }

  bool stop_asked() const {
    return options_.execution.stop != nullptr && options_.execution.stop->load(std::memory_order_relaxed);
  }

  std::int64_t first_step() const {
    std::int64_t first = options_.steps;
    for (const EngineDescent& descent : descents_) first = std::min(first, descent.state.step);
    return first;
  }

  // Where a run ends that starts at `step`: at most at `until`, before it is out of room for records, and
  // where it is to be saved.
  std::int64_t end_of(std::int64_t step, std::int64_t until) const {
    if (options_.record_every > 0) {
      const std::int64_t whole = step / options_.record_every, more = setting_.most_records - 1;
      if (more < std::numeric_limits<std::int64_t>::max() / options_.record_every - whole) {
        until = std::min(until, (whole + more) * options_.record_every);
      }
    }
    if (options_.checkpoint_every > 0) {
      until = std::min(until, (step / options_.checkpoint_every + 1) * options_.checkpoint_every);
    }
    return std::max(step, until);
  }

  // False where a run has ended with an error.
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
    sizes_.resize(sizes.size());
    sizes_.write(sizes);
    setting_.step_sizes = sizes_.data();
    setting_.first_step = first;

    std::vector<DescentRun> runs;
    std::vector<std::size_t> who;
    for (const auto& [shape, members] : groups_) {
      for (const std::size_t i : members) {
        runs.push_back(to_run(i, until));
        who.push_back(i);
      }
    }
    device_runs_.write(runs);
    std::size_t at = 0, stream = 0;
    for (const auto& [shape, members] : groups_) {
      check(launch_descents(setting_, device_runs_.data() + at, static_cast<int>(members.size()),
                            {-shape.first, -shape.second, apart_}, streams_[stream++].get()),
            "launch of descents");
      at += members.size();
    }
    check(cudaDeviceSynchronize(), "descents");
    device_runs_.read(runs);
    values_.read(host_values_);
    bool all_well = true;
    for (std::size_t k = 0; k < runs.size(); ++k) all_well = take(who[k], runs[k]) && all_well;
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
    std::int64_t made = 1;  // less than span_, where runs are to be saved on the way
    for (const EngineDescent& descent : descents_) made = std::max(made, descent.state.step - first);
    const double faster = std::clamp(kLaunchSeconds / elapsed.count(), 0.25, 4.0);
    span_ = std::clamp<std::int64_t>(static_cast<std::int64_t>(static_cast<double>(made) * faster), 1,
                                     options_.steps);
    return all_well;
  }

  DescentRun to_run(std::size_t i, std::int64_t until) const {
    const EngineDescent& descent = descents_[i];
    const DescentState& state = descent.state;
    DescentRun run;
    run.length = descent.batches.length;
    run.seed = descent.batches.seed;
    run.attention =
        descent.batches.attention == AttentionKind::softmax ? Attention::softmax : Attention::linear;
    run.step = state.step;
    run.until = end_of(state.step, until);
    run.time = state.time;
    run.momentum_power = state.momentum_power;
    run.squares_power = state.squares_power;
    run.first_loss = state.first_loss;
    run.loss_sum = state.loss_sum;
    run.loss_count = state.loss_count;
    run.place = static_cast<std::int64_t>(i);
    return run;
  }

  bool take(std::size_t i, const DescentRun& run) {
    EngineDescent& descent = descents_[i];
    DescentState& state = descent.state;
    const std::int64_t before = state.step;
    const auto size = static_cast<Eigen::Index>(count_);
    const double* values = host_values_.data() + i * 3 * count_;
    state.step = run.step;
    state.time = run.time;
    state.momentum_power = run.momentum_power;
    state.squares_power = run.squares_power;
    state.first_loss = run.first_loss;
    state.loss_sum = run.loss_sum;
    state.loss_count = run.loss_count;
    state.parameters = Eigen::Map<const Vector>(values, size);
    if (state.momentum.size() > 0) state.momentum = Eigen::Map<const Vector>(values + count_, size);
    if (state.squares.size() > 0) state.squares = Eigen::Map<const Vector>(values + 2 * count_, size);
    const std::size_t width = count_ + kRecordHead;
    std::vector<double> records(static_cast<std::size_t>(run.records) * width);
    if (!records.empty()) records_.read(records, i * static_cast<std::size_t>(setting_.most_records) * width);
    for (std::size_t at = 0; at < records.size(); at += width) {
      const double* record = records.data() + at;
      state.records.push_back({static_cast<std::int64_t>(record[0]), record[1],
                               Eigen::Map<const Vector>(record + kRecordHead, size), record[2]});
    }
    switch (run.ending) {
      case Ending::in_order:
        if (options_.checkpoint_every > 0 && state.step > before && state.step < options_.steps &&
            state.step % options_.checkpoint_every == 0) {
          save(descent);
        }
        return true;
      case Ending::refused:
        refuse(descent);
        return false;
      case Ending::not_finite:
        descent.error = std::make_exception_ptr(Diverged(state.step, "the parameters are no longer finite"));
        return false;
    }
    return true;
  }

  // The exception that the CPU has for this step.
  void refuse(EngineDescent& descent) const {
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
    for (EngineDescent& descent : descents_) {
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

  static void save(const EngineDescent& descent) {
    if (!descent.checkpoint.empty()) save_descent(descent.checkpoint, descent.state);
  }

  double share_done() const {
    double done = 0, all = 0;
    for (const EngineDescent& descent : descents_) {
      done += cost_of(descent.batches) * static_cast<double>(descent.state.step);
      all += cost_of(descent.batches) * static_cast<double>(options_.steps);
    }
    return done / all;
  }

  const RegressionProblem& problem_;
  RegressionTask task_;
  std::shared_ptr<const ParameterMap> map_;
  const DescentOptions& options_;
  std::vector<EngineDescent>& descents_;
  DescentSetting setting_;
  std::size_t count_ = 0;  // of parameters
  DeviceArray<double> roots_, values_, records_, rows_, sizes_;
  DeviceArray<DescentRun> device_runs_;
  std::vector<double> host_values_;
  std::map<std::pair<int, int>, std::vector<std::size_t>>
      groups_;  // by cluster and octets, the largest first
  bool apart_ = false;
  std::vector<Stream> streams_;
  std::int64_t span_ = kFirstSpan;
};

}  // namespace

void CudaDescents::descend(const RegressionProblem& problem, Parametrisation parameters,
                           const DescentOptions& options, std::vector<EngineDescent>& runs) const {
  if (runs.empty()) return;
  check(cudaSetDevice(device_), "choice of the GPU");  // of this thread
  Descents(problem, parameters, options, runs).run();
}

}  // namespace largo::cuda
