#include "prompt_engine.hpp"

#include <algorithm>
#include <array>
#include <numbers>
#include <vector>

#include <fmt/format.h>

#include "largo/runtime/check.hpp"
#include "launch_plan.hpp"
#include "prompt_kernel.hpp"
#include "prompts/labels.hpp"
#include "runtime.hpp"
#include "runtime/distribute.hpp"
#include "staged_law.hpp"

namespace largo::cuda {
namespace {

constexpr const char* kName = "sample_attention_errors";

// Rows have the layout that the CPU reads.
static_assert(kScoreRow == prompts::PromptEngine::kScoreRow);
static_assert(token_row(7, false) == prompts::sum_count(7, prompts::SumOrder::mean) + 1 &&
              token_row(7, true) == prompts::sum_count(7, prompts::SumOrder::covariance) + 1);

[[noreturn]] void refuse(const std::string& law) {
  fail(kName, fmt::format("{} not drawn on a GPU: sample on the CPU", law));
}

std::vector<float> to_floats(std::span<const double> values, double factor) {
  std::vector<float> floats;
  for (const double x : values) floats.push_back(static_cast<float>(x * factor));
  return floats;
}

// Thread instructions per token, as measured at d = 16, to within a factor of two.
std::int64_t token_work(const TokenJob& job) {
  const bool normals = job.kind == TokenKind::normal || job.kind == TokenKind::sphere;
  const std::int64_t d = job.dimension;
  return 32 + (normals ? 40 : 20) * job.drawn + (job.covariance ? 6 * d * (d + 1) / 2 : 0);
}
constexpr std::int64_t kScoreWork = 60;

// Calls launch(first, slice, stream) for all chunks of all prompts, where `first` is the first of the
// prompts; then reads their rows.
template <typename Launch>
void sum_slices(const prompts::PromptRange& range, std::size_t width, std::int64_t token_work, int device,
                const PromptLimits& limits, const Execution& execution, const Launch& launch,
                std::span<double> rows) {
  int processors = 1;
  check(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device), "properties of the GPU");
  const std::int64_t chunks = (range.length + kSumsChunk - 1) / kSumsChunk;
  const std::int64_t most = std::min(limits.held_numbers / static_cast<std::int64_t>(width),
                                     limits.launch_work * processors / (token_work * kSumsChunk));
  const LaunchPlan plan = plan_launches(range.prompts, chunks, std::max<std::int64_t>(1, most));
  DeviceArray<double> held(static_cast<std::size_t>(plan.prompts * plan.chunks) * width);
  std::array<DeviceArray<double>, 2> sums;  // over the chunks so far: before a launch, and after it
  for (DeviceArray<double>& some : sums) some.resize(static_cast<std::size_t>(plan.prompts) * width);
  const Stream stream;
  PromptSlice slice;
  slice.seed = range.seed;
  slice.length = range.length;
  slice.chunk_sums = held.data();
  for (std::int64_t first = 0; first < range.prompts; first += plan.prompts) {
    slice.first_prompt = range.first + static_cast<std::uint64_t>(first);
    slice.prompts = std::min(plan.prompts, range.prompts - first);
    std::size_t launches = 0;
    for (slice.first_chunk = 0; slice.first_chunk < chunks; slice.first_chunk += plan.chunks, ++launches) {
      runtime::check_stop(execution);
      slice.chunks = std::min(plan.chunks, chunks - slice.first_chunk);
      slice.before = launches == 0 ? nullptr : sums[(launches + 1) % 2].data();
      slice.rows = sums[launches % 2].data();
      check(launch(first, slice, stream.get()), "launch of prompts");
      check(cudaStreamSynchronize(stream.get()), "prompts");
    }
    sums[(launches + 1) % 2].read(rows.subspan(static_cast<std::size_t>(first) * width,
                                               static_cast<std::size_t>(slice.prompts) * width));
  }
}

}  // namespace

// The components of a mixture that the tokens of a slice belong to. The counts of the last slice are kept: if
// there is only one slice, all components use them. If there are more, each component counts anew, which
// bounds the memory and costs some 30 instructions per token and component, compared with 300 and more to
// draw a token.
class Labels {
 public:
  explicit Labels(std::span<const prompts::LeafSums> leaves) {
    std::vector<double> probabilities;
    for (const prompts::LeafSums& one : leaves) probabilities.push_back(one.leaf->probability);
    job_.components = static_cast<std::int32_t>(leaves.size());
    cumulative_ =
        DeviceArray<double>(std::span<const double>(prompts::cumulative_probabilities(probabilities)));
    job_.cumulative = cumulative_.data();
  }

  /// The counts for component number k.
  LabelCounts count(const PromptSlice& slice, std::size_t k, cudaStream_t stream) {
    constexpr std::int64_t kChunksInSpan = prompts::kLabelSpan / kSumsChunk;
    LabelJob job = job_;
    job.seed = slice.seed;
    job.first_prompt = slice.first_prompt;
    job.prompts = slice.prompts;
    job.length = slice.length;
    job.first_span = slice.first_chunk / kChunksInSpan;
    job.spans = (slice.first_chunk + slice.chunks - 1) / kChunksInSpan - job.first_span + 1;
    if (job != job_) {
      counts_.resize(static_cast<std::size_t>(job.prompts * job.spans * job.components));
      job.counts = counts_.data();
      check(launch_labels(job, stream), "launch of labels");
      job_ = job;
    }
    return {counts_.data() + k, job.first_span, job.spans, job.components};
  }

 private:
  LabelJob job_;  // the last one
  DeviceArray<double> cumulative_;
  DeviceArray<std::int32_t> counts_;
};

void CudaPrompts::sum_tokens(std::span<const prompts::LeafSums> leaves, prompts::SumOrder order,
                             const prompts::PromptRange& range, const Execution& execution) const {
  check(cudaSetDevice(device_), "choice of the GPU");
  if (order == prompts::SumOrder::gradient) refuse("sums of values are");
  if (leaves.size() == 1) return sum_leaf(leaves, 0, nullptr, order, range, execution);
  if (leaves.size() > kMostComponents) {
    fail(kName, "components of a mixture on a GPU", static_cast<double>(leaves.size()),
         fmt::format("at most {}; sample more of them on the CPU", kMostComponents));
  }
  Labels labels(leaves);
  for (std::size_t k = 0; k < leaves.size(); ++k) sum_leaf(leaves, k, &labels, order, range, execution);
}

void CudaPrompts::sum_leaf(std::span<const prompts::LeafSums> leaves, std::size_t k, Labels* labels,
                           prompts::SumOrder order, const prompts::PromptRange& range,
                           const Execution& execution) const {
  const prompts::LeafSums& one = leaves[k];
  TokenJob job;
  job.covariance = order == prompts::SumOrder::covariance;
  const StagedLaw tokens(kName, *one.leaf, one.first_lane);
  static_cast<TokenLaw&>(job) = tokens.law();
  const DeviceArray<float> along{std::span<const float>(to_floats(one.directions, std::numbers::log2e))};
  const auto dimension = static_cast<std::size_t>(job.dimension);
  const std::size_t width = token_row(job.dimension, job.covariance);
  job.one_direction = one.directions.size() == dimension;
  sum_slices(
      range, width, token_work(job), device_, limits_, execution,
      [&](std::int64_t first, const PromptSlice& slice, cudaStream_t stream) {
        job.slice = slice;
        if (labels != nullptr) job.slice.labels = labels->count(slice, k, stream);
        job.directions = along.data() + (job.one_direction ? 0 : static_cast<std::size_t>(first) * dimension);
        return launch_token_sums(job, stream);
      },
      one.rows);
  for (std::size_t top = width - 1; top < one.rows.size(); top += width) {
    if (one.rows[top] == kNoTokens) one.rows[top] = 0;
  }
}

void CudaPrompts::sum_scores(std::uint64_t lane, std::span<const double> rates,
                             std::span<const double> shifts, const prompts::PromptRange& range,
                             const Execution& execution, std::span<double> rows) const {
  check(cudaSetDevice(device_), "choice of the GPU");
  ScoreJob job;
  job.lane = lane;
  job.one_rate = rates.size() == 1;
  const DeviceArray<float> fast{std::span<const float>(to_floats(rates, std::numbers::log2e))};
  const DeviceArray<float> middle{std::span<const float>(to_floats(shifts, 1))};
  sum_slices(
      range, cuda::kScoreRow, kScoreWork, device_, limits_, execution,
      [&](std::int64_t first, const PromptSlice& slice, cudaStream_t stream) {
        job.slice = slice;
        job.rates = fast.data() + (job.one_rate ? 0 : first);
        job.shifts = middle.data() + (job.one_rate ? 0 : first);
        return launch_score_sums(job, stream);
      },
      rows);
}

}  // namespace largo::cuda
