#include "largo/icl/prompt_risk.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <span>
#include <utility>

#include <oneapi/tbb/enumerable_thread_specific.h>

#include "estimation/central_moments.hpp"
#include "icl/fused_regression.hpp"
#include "icl/prompt_forms.hpp"
#include "largo/runtime/check.hpp"
#include "runtime/distribute.hpp"

namespace largo {
namespace {

constexpr const char* kPromptRisk = "PromptRisk";
// Draws whose numbers are computed one after the other.
constexpr std::int64_t kPromptBlock = icl::kFusedPrompts;
// Numbers of draws that are held at a time, at most; but at least these draws. A loss is called once for
// them.
constexpr std::int64_t kHeldNumbers = std::int64_t{1} << 22;
constexpr std::int64_t kFewestHeld = 1024;
// Upper bounds on the memory of a law of largo: some objects, and some matrices of its dimension.
constexpr double kLawBytes = 4096;
constexpr double kLawMatrices = 4;

bool fits(const PromptSetting& setting, const icl::PreparedPrompt& first, std::int64_t prompts,
          std::int64_t held_bytes) {
  const auto d = static_cast<double>(setting.task->token_dimension());
  const double tokens = first.form == icl::PromptForm::drawn ? setting.length.mean() * d : 0;
  const auto query = static_cast<double>(setting.task->query_dimension());
  const double bytes =
      kLawBytes + static_cast<double>(sizeof(double)) * (tokens + kLawMatrices * d * d + query);
  return static_cast<double>(prompts) * bytes <= static_cast<double>(held_bytes);
}

// Calls use(rows) for the numbers of draws first, ..., first + count - 1, some at a time, in order. make()
// returns a function write(i, count, rows) that writes the rows of draws i, ..., i + count - 1, at most
// kPromptBlock, one after the other; every thread has its own.
template <typename Make, typename Use>
void for_rows(const icl::RowLayout& layout, std::int64_t first, std::int64_t count,
              const Execution& execution, const Make& make, const Use& use) {
  using Writer = decltype(make());
  tbb::enumerable_thread_specific<Writer, std::allocator<Writer>> writers(make);
  const std::size_t width = layout.width();
  const std::int64_t most =
      std::max(kFewestHeld, kHeldNumbers / static_cast<std::int64_t>(width)) / kPromptBlock * kPromptBlock;
  for (std::int64_t begin = 0; begin < count; begin += most) {
    const std::int64_t held = std::min(most, count - begin);
    const std::int64_t blocks = (held + kPromptBlock - 1) / kPromptBlock;
    const runtime::AlignedVector<double> rows = runtime::distribute_rows(
        blocks, width * kPromptBlock, execution, [&](std::ptrdiff_t block, std::span<double> numbers) {
          const std::int64_t from = block * kPromptBlock;
          writers.local()(first + begin + from, std::min(kPromptBlock, held - from), numbers);
        });
    use(Eigen::Map<const RowMatrix>(rows.data(), held, static_cast<Eigen::Index>(width)));
  }
}

using Numbers = Eigen::Map<const RowMatrix>;

// Losses and gradients of draws. Every sum runs over the draws in order, one product and one sum at a time,
// as descents on a GPU do (cuda/law_prompt.cuh).
class LossSums {
 public:
  LossSums(const Loss& loss, const icl::RowLayout& layout)
      : loss_(loss),
        layout_(layout),
        U_(Matrix::Zero(layout.d, layout.e)),
        V_(Matrix::Zero(layout.d, layout.m)),
        along_(layout.d) {}

  void add(const Numbers& rows) {
    const LossRows losses = losses_of(rows);
    has_open_ = has_open_ || losses.values.size() > 0;
    Eigen::Index next = 0;
    Vector values(rows.rows());
    for (Eigen::Index i = 0; i < rows.rows(); ++i) {
      const double* const row = rows.data() + i * rows.cols();
      const Eigen::Map<const Vector> vector(row + layout_.vector(), layout_.d);
      const Eigen::Map<const Matrix> matrix(row + layout_.matrix(), layout_.d, layout_.m);
      if (row[0] != 0) {
        values[i] = row[1];
        add_to_U(row, vector);
        V_ += matrix;
        continue;
      }
      values[i] = losses.values[next];
      const double* const slope = losses.slopes.data() + next++ * layout_.m;
      along_.setZero();
      for (Eigen::Index k = 0; k < layout_.m; ++k) {
        along_ += slope[k] * matrix.col(k);
        V_.col(k) += slope[k] * vector;
      }
      add_to_U(row, along_);
    }
    add_values(values);
  }

  /// Whether some losses were not known as averages over prompts.
  bool has_open() const { return has_open_; }

  RiskPoint mean(double score_scale) const {
    const double n = spread_.n;
    RiskPoint point{sum_ / n, std::numeric_limits<double>::infinity(), Vector(layout_.parameters())};
    if (n > 1) point.error = std::sqrt(spread_.variance() / n);
    point.gradient << (score_scale / n) * U_.reshaped(), V_.reshaped() / n;
    if (!std::isfinite(point.value) || !point.gradient.allFinite()) {
      fail(kPromptRisk, "the risk or its gradient is not finite: scale down the parameters");
    }
    return point;
  }

 private:
  template <typename Along>
  void add_to_U(const double* row, const Along& along) {
    for (Eigen::Index j = 0; j < layout_.e; ++j) U_.col(j) += row[layout_.query() + j] * along;
  }

  void add_values(const Vector& values) {
    double sum = 0;
    for (const double value : values) {
      sum_ += value;
      sum += value;
    }
    const auto n = static_cast<double>(values.size());
    const double mean = sum / n;
    spread_.merge({n, mean, (values.array() - mean).square().sum()});
  }

  // One call for all draws whose loss is not known yet.
  LossRows losses_of(const Numbers& rows) const {
    const Eigen::Index open = (rows.col(0).array() == 0).count(), m = layout_.m;
    if (open == 0) return {};
    RowMatrix outputs(open, m), targets(open, m);
    Eigen::Index next = 0;
    for (Eigen::Index i = 0; i < rows.rows(); ++i) {
      if (rows(i, 0) != 0) continue;
      outputs.row(next) = rows.row(i).segment(layout_.output(), m);
      targets.row(next++) = rows.row(i).segment(layout_.target(), m);
    }
    if (!outputs.allFinite()) fail(kPromptRisk, "an output is not finite: scale down the parameters");
    LossRows losses = loss_.rows(outputs, targets);
    check_size("Loss", "values", losses.values.size(), open);
    check_shape("Loss", "slopes", losses.slopes.rows(), losses.slopes.cols(), open, m);
    if (!losses.values.allFinite() || !losses.slopes.allFinite()) {
      fail(kPromptRisk, "a loss or its slope is not finite: scale down the parameters, or mend the loss");
    }
    return losses;
  }

  const Loss& loss_;
  icl::RowLayout layout_;
  double sum_ = 0;
  estimation::CentralMoments spread_;  // of the losses: their number and variance
  Matrix U_, V_;                       // V transposed
  Vector along_;
  bool has_open_ = false;
};

// Writes the rows of draws with given parameters: draw(i) is number i.
template <typename Draw>
auto responses(const PromptSetting& setting, const ConstVectorRef& parameters, const Execution& execution,
               const Draw& draw) {
  return [&setting, &execution, at = Vector(parameters), &draw] {
    return [head = std::make_shared<icl::PromptHead>(setting, at, execution), &draw,
            width = icl::RowLayout(*setting.task).width()](std::int64_t first, std::int64_t count,
                                                           std::span<double> rows) {
      for (std::int64_t n = 0; n < count; ++n) {
        head->respond(draw(first + n), rows.subspan(static_cast<std::size_t>(n) * width, width));
      }
    };
  };
}

}  // namespace

struct PromptRisk::Held {
  std::vector<icl::PreparedPrompt> prompts;
};

PromptRisk::PromptRisk(PromptSetting setting, std::int64_t prompts, const Execution& execution,
                       std::int64_t held_bytes)
    : setting_(std::move(setting)), prompts_(prompts), execution_(execution) {
  icl::check(setting_, kPromptRisk);
  if (prompts < 2) fail(kPromptRisk, "prompts", static_cast<double>(prompts), "at least 2");
  const icl::PreparedPrompt first = icl::prepare_prompt(setting_, 0, icl::KeepTokens::no, execution_);
  average_ = icl::average_of(first);
  if (!fits(setting_, first, prompts, held_bytes)) return;
  auto held = std::make_shared<Held>();
  held->prompts.resize(static_cast<std::size_t>(prompts));
  runtime::parallel_for(prompts, execution_, [&](std::ptrdiff_t i) {
    runtime::check_stop(execution_);
    held->prompts[static_cast<std::size_t>(i)] =
        icl::prepare_prompt(setting_, i, icl::KeepTokens::yes, execution_);
  });
  for (const icl::PreparedPrompt& prompt : held->prompts) {
    if (icl::average_of(prompt) == PromptAverage::sampled) average_ = PromptAverage::sampled;
  }
  held_ = std::move(held);
}

Eigen::Index PromptRisk::size() const { return icl::RowLayout(*setting_.task).parameters(); }

RiskPoint PromptRisk::at(const ConstVectorRef& parameters) const {
  const icl::RowLayout layout(*setting_.task);
  LossSums sums(*setting_.loss, layout);
  const auto add = [&](const Numbers& rows) { sums.add(rows); };
  check_size(kPromptRisk, "parameters", parameters.size(), layout.parameters());
  if (held_) {
    const auto draw = [this](std::int64_t i) -> const icl::PreparedPrompt& {
      return held_->prompts[static_cast<std::size_t>(i)];
    };
    for_rows(layout, 0, prompts_, execution_, responses(setting_, parameters, execution_, draw), add);
  } else {
    const auto draw = [this](std::int64_t i) {
      return icl::prepare_prompt(setting_, i, icl::KeepTokens::no, execution_);
    };
    for_rows(layout, 0, prompts_, execution_, responses(setting_, parameters, execution_, draw), add);
  }
  if (sums.has_open() && !setting_.length.is_infinite()) average_ = PromptAverage::sampled;
  const RiskPoint point = sums.mean(setting_.score_scale);
  if (!std::isfinite(point.error)) {
    fail(kPromptRisk, "the spread of the risk is not finite: scale down the parameters");
  }
  return point;
}

RowMatrix PromptRisk::outputs(const ConstVectorRef& parameters) const {
  const icl::RowLayout layout(*setting_.task);
  RowMatrix outputs(prompts_, layout.m);
  Eigen::Index next = 0;
  const auto draw = [this](std::int64_t i) {
    return held_ ? held_->prompts[static_cast<std::size_t>(i)]
                 : icl::prepare_prompt(setting_, i, icl::KeepTokens::no, execution_);
  };
  for_rows(layout, 0, prompts_, execution_, responses(setting_, parameters, execution_, draw),
           [&](const Numbers& rows) {
             outputs.middleRows(next, rows.rows()) = rows.middleCols(layout.output(), layout.m);
             next += rows.rows();
           });
  return outputs;
}

// The fused kernels need softmax attention over prompts of finite length.
struct PromptBatches::Fused {
  icl::FusedLaws laws;
};

PromptBatches::PromptBatches(PromptSetting setting, std::int64_t batch_size, const Execution& execution)
    : setting_(std::move(setting)), batch_size_(batch_size), execution_(execution) {
  icl::check(setting_, "PromptBatches");
  if (batch_size < 1) fail("PromptBatches", "batch_size", static_cast<double>(batch_size), "at least 1");
  setting_.sampling = PromptSampling::always;
  const auto* regression = dynamic_cast<const LawRegression*>(setting_.task.get());
  if (regression == nullptr || setting_.attention != AttentionKind::softmax ||
      setting_.length.is_infinite()) {
    return;
  }
  for (const double L : setting_.length.lengths()) {
    if (L != std::floor(L) || L >= static_cast<double>(prompts::kMostTokens)) {
      fail("PromptBatches", "length", L, "a whole number below 2^40");
    }
  }
  fused_ = std::make_unique<const Fused>(Fused{icl::FusedLaws(regression->laws())});
}

PromptBatches::~PromptBatches() = default;

Eigen::Index PromptBatches::size() const { return icl::RowLayout(*setting_.task).parameters(); }

RiskPoint PromptBatches::batch(const ConstVectorRef& parameters, std::int64_t step) const {
  const std::int64_t most = std::numeric_limits<std::int64_t>::max() / batch_size_ - 1;
  if (step < 0 || step > most) {
    fail("PromptBatches", "step", static_cast<double>(step), "at least 0, its draws numbered below 2^63");
  }
  const icl::RowLayout layout(*setting_.task);
  LossSums sums(*setting_.loss, layout);
  const auto add = [&](const Numbers& rows) { sums.add(rows); };
  const std::int64_t first = step * batch_size_;
  if (fused_) {
    const auto make = [&] {
      return [this, head = std::make_shared<icl::FusedHead>(fused_->laws, setting_, parameters)](
                 std::int64_t i, std::int64_t count, std::span<double> rows) {
        head->respond(i, count, execution_, rows);
      };
    };
    for_rows(layout, first, batch_size_, execution_, make, add);
  } else {
    const auto draw = [this](std::int64_t i) {
      return icl::prepare_prompt(setting_, i, icl::KeepTokens::no, execution_);
    };
    for_rows(layout, first, batch_size_, execution_, responses(setting_, parameters, execution_, draw), add);
  }
  return sums.mean(setting_.score_scale);
}

namespace {

// The mean loss over draws of outputs that output(i, prompt) gives.
template <typename Output>
Estimate mean_loss(const PromptSetting& setting, std::int64_t prompts, const Execution& execution,
                   const Output& output) {
  icl::check(setting, "icl");
  if (prompts < 2) fail("icl", "prompts", static_cast<double>(prompts), "at least 2");
  const icl::RowLayout layout(*setting.task);
  estimation::CentralMoments values;
  const auto make = [&] {
    return [&](std::int64_t first, std::int64_t count, std::span<double> rows) {
      for (std::int64_t n = 0; n < count; ++n) {
        const icl::PreparedPrompt prompt =
            icl::prepare_prompt(setting, first + n, icl::KeepTokens::no, execution);
        double* const row = rows.data() + static_cast<std::size_t>(n) * layout.width();
        Eigen::Map<Vector>(row + layout.output(), layout.m) = output(prompt);
        Eigen::Map<Vector>(row + layout.target(), layout.m) = prompt.target;
      }
    };
  };
  for_rows(layout, 0, prompts, execution, make, [&](const Numbers& rows) {
    const LossRows losses = setting.loss->rows(rows.middleCols(layout.output(), layout.m),
                                               rows.middleCols(layout.target(), layout.m));
    for (const double value : losses.values) values.add(value);
  });
  check_finite("icl", "the loss", values.mean);
  return {values.mean, std::sqrt(values.variance() / values.n)};
}

}  // namespace

Estimate null_risk(const PromptSetting& setting, std::int64_t prompts, const Execution& execution) {
  icl::check(setting, "icl");
  const auto* regression = dynamic_cast<const LawRegression*>(setting.task.get());
  if (const auto factor = setting.loss->quadratic_factor(); factor && regression != nullptr) {
    return {*factor * regression->mean_square_target(), 0};
  }
  PromptSetting infinite = setting;  // nothing depends on the prompt
  infinite.length = std::numeric_limits<double>::infinity();
  return mean_loss(infinite, prompts, execution, [](const icl::PreparedPrompt& prompt) {
    return Vector(Vector::Zero(prompt.target.size()));
  });
}

std::optional<Estimate> learner_risk(const PromptSetting& setting, std::int64_t prompts,
                                     const Execution& execution) {
  if (setting.task->learner().empty()) return std::nullopt;
  PromptSetting moments = setting;  // linear attention sees second moments, and so does the learner
  moments.attention = AttentionKind::linear;
  moments.sampling = PromptSampling::always;
  return mean_loss(moments, prompts, execution, [&](const icl::PreparedPrompt& prompt) {
    const Matrix moment = prompt.form == icl::PromptForm::gaussian
                              ? Matrix(prompt.matrix * prompt.matrix.transpose())
                              : prompt.matrix;
    return setting.task->learn(moment, prompt.L, prompt.query);
  });
}

}  // namespace largo
