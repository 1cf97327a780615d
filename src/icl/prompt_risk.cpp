#include "largo/icl/prompt_risk.hpp"

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>

#include "estimation/central_moments.hpp"
#include "largo/icl/prompt_task.hpp"
#include "largo/measures/empirical.hpp"
#include "largo/runtime/check.hpp"
#include "numerics/portable_math.hpp"
#include "runtime/distribute.hpp"

namespace largo {
namespace {

constexpr const char* kPromptRisk = "PromptRisk";
// Substreams of a draw.
constexpr std::uint64_t kTaskStream = 0;
constexpr std::uint64_t kTokenStream = 1;
// Number of draws whose losses and gradients are summed one after the other; the sums of these blocks are
// added in order.
constexpr std::int64_t kPromptBlock = 8;
// Limits on the blocks whose sums are held at a time: this many numbers, but at least this many blocks, so
// that there are some for each of many threads.
constexpr std::int64_t kHeldNumbers = std::int64_t{1} << 22;
constexpr std::int64_t kFewestHeld = 64;
// Upper bounds on the memory of a law of largo: some objects, and some matrices of its dimension.
constexpr double kLawBytes = 4096;
constexpr double kLawMatrices = 4;

void check(const PromptSetting& setting) {
  if (!setting.task) fail(kPromptRisk, "the task is null");
  if (!setting.loss) fail(kPromptRisk, "the loss is null");
  const auto d = static_cast<double>(setting.task->token_dimension());
  if (d < 1) fail(kPromptRisk, "token dimension of the task", d, "at least 1");
  if (setting.task->query_dimension() < 1) {
    fail(kPromptRisk, "query dimension of the task", static_cast<double>(setting.task->query_dimension()),
         "at least 1");
  }
  check_finite(kPromptRisk, "score_scale", setting.score_scale);
  const double L = setting.length;
  if (!(L >= 1) || (std::isfinite(L) && L != std::floor(L))) {
    fail(kPromptRisk, "length", L, "an integer, at least 1, or infinity");
  }
  if (std::isfinite(L) && L * d > kLargestPrompt) {
    fail(kPromptRisk, "length", L, "at most 2^29 over the dimension of the tokens, or infinity");
  }
}

Eigen::Index parameter_count(const PromptSetting& setting) {
  const Eigen::Index d = setting.task->token_dimension();
  return d * setting.task->query_dimension() + d;
}

bool fits(const PromptSetting& setting, std::int64_t prompts, std::int64_t held_bytes) {
  const auto d = static_cast<double>(setting.task->token_dimension());
  const double numbers = std::isfinite(setting.length) ? setting.length * d : kLawMatrices * d * d;
  const double query = static_cast<double>(setting.task->query_dimension());
  const double bytes = kLawBytes + static_cast<double>(sizeof(double)) * (numbers + query);
  return static_cast<double>(prompts) * bytes <= static_cast<double>(held_bytes);
}

// A head: its output and the gradient of the output, packed like the parameters.
class Head {
 public:
  Head(const PromptSetting& setting, const ConstVectorRef& parameters) : kind_(setting.attention) {
    const Eigen::Index d = setting.task->token_dimension();
    const Eigen::Index e = setting.task->query_dimension();
    check_size(kPromptRisk, "parameters", parameters.size(), d * e + d);
    check_finite(kPromptRisk, "parameters", parameters);
    weights_.U = parameters.head(d * e).reshaped(d, e);
    weights_.V = parameters.tail(d).transpose();
    weights_.score_scale = setting.score_scale;
  }

  /// Fills `gradient` and returns o. This takes one vector-Jacobian product with cotangent 1: its part in V
  /// is the tilted mean, which gives the output without another pass over the prompt.
  double operator()(const PromptDraw& draw, std::span<double> gradient) const {
    const RowMatrix query = draw.query.transpose();
    const MergedGradient slope =
        attention_vjp(kind_, *draw.tokens, weights_, query, RowMatrix::Ones(1, 1), Execution{1});
    std::copy_n(slope.U.data(), slope.U.size(), gradient.begin());
    std::copy_n(slope.V.data(), slope.V.size(), gradient.begin() + slope.U.size());
    double output = 0;
    for (Eigen::Index j = 0; j < slope.V.size(); ++j) output += weights_.V(0, j) * slope.V(0, j);
    return output;
  }

 private:
  AttentionKind kind_;
  MergedWeights weights_;
};

// The row of a block: the mean loss and Σ (loss - mean)², then the sums of the gradient.
constexpr std::size_t kLossNumbers = 2;

template <typename Source>
void add_block(const PromptSetting& setting, const Head& head, const Source& source, std::int64_t first,
               std::int64_t count, std::span<double> row) {
  const std::span<double> sums = row.subspan(kLossNumbers);
  std::vector<double> gradient(sums.size());
  estimation::CentralMoments losses;
  for (std::int64_t i = first; i < first + count; ++i) {
    const PromptDraw& draw = source(i);
    const LossPoint loss = setting.loss->at(head(draw, gradient), draw.target);
    losses.add(loss.value);
    for (std::size_t k = 0; k < sums.size(); ++k) sums[k] += loss.slope * gradient[k];
  }
  row[0] = losses.mean;
  row[1] = losses.m2;
}

// The average over draws first, ..., first + count - 1; source(i) is draw number i.
template <typename Source>
RiskPoint average(const PromptSetting& setting, const ConstVectorRef& parameters, std::int64_t first,
                  std::int64_t count, const Source& source, const Execution& execution) {
  const Head head(setting, parameters);
  const auto width = kLossNumbers + static_cast<std::size_t>(parameters.size());
  const std::int64_t blocks = (count + kPromptBlock - 1) / kPromptBlock;
  const std::int64_t together = std::max(kFewestHeld, kHeldNumbers / static_cast<std::int64_t>(width));
  const auto size_of_block = [&](std::int64_t block) {
    return std::min(kPromptBlock, count - block * kPromptBlock);
  };
  estimation::CentralMoments losses;
  Vector sum = Vector::Zero(parameters.size());
  for (std::int64_t begin = 0; begin < blocks; begin += together) {
    const std::int64_t held = std::min(together, blocks - begin);
    const runtime::AlignedVector<double> rows =
        runtime::distribute_rows(held, width, execution, [&](std::ptrdiff_t i, std::span<double> row) {
          const std::int64_t block = begin + i;
          add_block(setting, head, source, first + block * kPromptBlock, size_of_block(block), row);
        });
    for (std::int64_t i = 0; i < held; ++i) {
      const double* row = rows.data() + static_cast<std::size_t>(i) * width;
      losses.merge({static_cast<double>(size_of_block(begin + i)), row[0], row[1], 0, 0});
      for (Eigen::Index k = 0; k < sum.size(); ++k) sum[k] += row[kLossNumbers + static_cast<std::size_t>(k)];
    }
  }
  const auto n = static_cast<double>(count);
  const double error = count > 1 ? std::sqrt(losses.variance() / n) : std::numeric_limits<double>::infinity();
  const Vector gradient = sum / n;
  if (!std::isfinite(losses.mean) || (count > 1 && !std::isfinite(error)) || !gradient.allFinite()) {
    fail(kPromptRisk, "the risk or its gradient is not finite: scale down the parameters");
  }
  return {losses.mean, error, gradient};
}

}  // namespace

PromptDraw draw_prompt(const PromptSetting& setting, std::int64_t index) {
  check(setting);
  if (index < 0) fail("draw_prompt", "index", static_cast<double>(index), "at least 0");
  const Stream stream(setting.seed, static_cast<std::uint64_t>(index));
  PromptDraw draw = setting.task->draw(stream.substream(kTaskStream));
  if (!draw.tokens) fail("PromptTask", "the law of the tokens is null");
  check_size("PromptTask", "each token", draw.tokens->dimension(), setting.task->token_dimension());
  check_size("PromptTask", "query", draw.query.size(), setting.task->query_dimension());
  check_finite("PromptTask", "query", draw.query);
  check_finite("PromptTask", "target", draw.target);
  if (std::isfinite(setting.length)) {
    // One draw is the work of one thread, since many are made at once.
    draw.tokens = std::make_shared<EmpiricalMeasure>(
        sample_prompt(*draw.tokens, stream.substream(kTokenStream), static_cast<std::int64_t>(setting.length),
                      {.threads = 1}));
  }
  return draw;
}

PromptRisk::PromptRisk(PromptSetting setting, std::int64_t prompts, const Execution& execution,
                       std::int64_t held_bytes)
    : setting_(std::move(setting)), prompts_(prompts), execution_(execution) {
  check(setting_);
  if (prompts < 2) fail(kPromptRisk, "prompts", static_cast<double>(prompts), "at least 2");
  if (!fits(setting_, prompts, held_bytes)) return;
  held_.resize(static_cast<std::size_t>(prompts));
  runtime::parallel_for(prompts, execution_, [&](std::ptrdiff_t i) {
    runtime::check_stop(execution_);
    held_[static_cast<std::size_t>(i)] = draw_prompt(setting_, i);
  });
}

Eigen::Index PromptRisk::size() const { return parameter_count(setting_); }

RiskPoint PromptRisk::at(const ConstVectorRef& parameters) const {
  if (!holds_prompts()) {
    return average(
        setting_, parameters, 0, prompts_, [&](std::int64_t i) { return draw_prompt(setting_, i); },
        execution_);
  }
  const auto held = [&](std::int64_t i) -> const PromptDraw& { return held_[static_cast<std::size_t>(i)]; };
  return average(setting_, parameters, 0, prompts_, held, execution_);
}

PromptBatches::PromptBatches(PromptSetting setting, std::int64_t batch_size, const Execution& execution)
    : setting_(std::move(setting)), batch_size_(batch_size), execution_(execution) {
  check(setting_);
  if (batch_size < 1) fail("PromptBatches", "batch_size", static_cast<double>(batch_size), "at least 1");
}

Eigen::Index PromptBatches::size() const { return parameter_count(setting_); }

RiskPoint PromptBatches::batch(const ConstVectorRef& parameters, std::int64_t step) const {
  const std::int64_t most = std::numeric_limits<std::int64_t>::max() / batch_size_ - 1;
  if (step < 0 || step > most) {
    fail("PromptBatches", "step", static_cast<double>(step), "at least 0, its draws numbered below 2^63");
  }
  return average(
      setting_, parameters, step * batch_size_, batch_size_,
      [&](std::int64_t i) { return draw_prompt(setting_, i); }, execution_);
}

}  // namespace largo
