#include "descent_staging.hpp"

#include <algorithm>
#include <span>

#include "largo/icl/parametrisation.hpp"
#include "largo/runtime/check.hpp"

namespace largo::cuda {
namespace {

// The most records of one run in a launch, and the most numbers in the records of all runs.
constexpr std::int64_t kMostRecords = 256;
constexpr std::size_t kRecordNumbers = std::size_t{1} << 26;

}  // namespace

DescentStage::DescentStage(const RegressionTask& task, Parametrisation parameters,
                           const DescentOptions& options,
                           const std::vector<icl::RegressionDescent>& descents) {
  const auto d = static_cast<int>(task.token_root.rows());
  setting_.noise = task.noise_deviation;
  setting_.score_scale = task.score_scale;
  std::vector<double> roots;
  for (const Matrix* root : {&task.token_root, &task.query_root, &task.prior_root}) {
    roots.insert(roots.end(), root->data(), root->data() + root->size());
  }
  roots_ = DeviceArray<double>(std::span<const double>(roots));
  setting_.token_root = roots_.data();
  setting_.query_root = roots_.data() + d * d;
  setting_.prior_root = roots_.data() + 2 * d * d;
  stage(d, parameters, options, descents);
}

DescentStage::DescentStage(const StagedLaws& laws, Parametrisation parameters, const DescentOptions& options,
                           const std::vector<icl::RegressionDescent>& descents) {
  setting_.has_laws = true;
  setting_.laws = laws.laws();
  setting_.score_scale = descents.front().prompts->score_scale;
  stage(laws.dimension(), parameters, options, descents);
}

void DescentStage::stage(int d, Parametrisation parameters, const DescentOptions& options,
                         const std::vector<icl::RegressionDescent>& descents) {
  const RegressionBatches& batches = descents.front().batches;
  setting_.dimension = d;
  setting_.parameters = parameters;
  setting_.optimizer = options.optimizer;
  setting_.prompts = batches.prompts;
  setting_.loss_factor = batches.loss_factor;
  setting_.momentum = options.momentum;
  setting_.squares = options.squares;
  setting_.epsilon = options.epsilon;
  setting_.divergence_factor = options.divergence_factor;
  setting_.record_every = options.record_every;
  if (setting_.has_laws) {
    setting_.laws.warps = law_warps(setting_);
    if (setting_.laws.warps == 0) {
      fail("train", "dimension on this GPU", static_cast<double>(d),
           "smaller, so that tokens fit into its shared memory; or train on the CPU");
    }
  }
  count_ = parameter_count(d, setting_.parameters);
  const std::size_t runs = descents.size();
  values_.resize(runs * 3 * count_);
  const std::size_t width = runs * (count_ + kRecordHead);
  setting_.most_records =
      options.record_every == 0
          ? 1  // the record of the start
          : std::clamp<std::int64_t>(static_cast<std::int64_t>(kRecordNumbers / width), 2, kMostRecords);
  records_.resize(static_cast<std::size_t>(setting_.most_records) * width);
  rows_.resize(runs * 2 * step_numbers(setting_));
  runs_.resize(runs);
  setting_.values = values_.data();
  setting_.records = records_.data();
  setting_.rows = rows_.data();
  host_values_.resize(values_.size());
  for (std::size_t i = 0; i < runs; ++i) {
    const DescentState& state = descents[i].state;
    double* to = host_values_.data() + i * 3 * count_;
    std::copy_n(state.parameters.data(), state.parameters.size(), to);
    std::copy_n(state.momentum.data(), state.momentum.size(), to + count_);
    std::copy_n(state.squares.data(), state.squares.size(), to + 2 * count_);
  }
  values_.write(host_values_);
}

void DescentStage::set_steps(std::int64_t first, const std::vector<double>& sizes) {
  sizes_.resize(sizes.size());
  sizes_.write(sizes);
  setting_.step_sizes = sizes_.data();
  setting_.first_step = first;
}

DescentRun DescentStage::run_of(std::size_t i, const icl::RegressionDescent& descent, std::int64_t until) {
  const DescentState& state = descent.state;
  DescentRun run;
  run.length = descent.batches.length;
  run.seed = descent.prompts ? descent.prompts->seed : descent.batches.seed;
  run.attention = descent.batches.attention;
  run.step = state.step;
  run.until = until;
  run.time = state.time;
  run.momentum_power = state.momentum_power;
  run.squares_power = state.squares_power;
  run.first_loss = state.first_loss;
  run.loss_sum = state.loss_sum;
  run.loss_count = state.loss_count;
  run.place = static_cast<std::int64_t>(i);
  return run;
}

DescentRun* DescentStage::send(const std::vector<DescentRun>& runs) {
  runs_.write(runs);
  return runs_.data();
}

void DescentStage::fetch(std::vector<DescentRun>& runs) {
  runs_.read(runs);
  values_.read(host_values_);
}

void DescentStage::take(const DescentRun& run, DescentState& state) const {
  const auto size = static_cast<Eigen::Index>(count_);
  const auto place = static_cast<std::size_t>(run.place);
  const double* values = host_values_.data() + place * 3 * count_;
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
  if (records.empty()) return;
  records_.read(records, place * static_cast<std::size_t>(setting_.most_records) * width);
  for (std::size_t at = 0; at < records.size(); at += width) {
    const double* record = records.data() + at;
    state.records.push_back({static_cast<std::int64_t>(record[0]), record[1],
                             Eigen::Map<const Vector>(record + kRecordHead, size), record[2]});
  }
}

}  // namespace largo::cuda
