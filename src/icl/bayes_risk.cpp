#include "largo/icl/bayes_risk.hpp"

#include <cmath>
#include <span>

#include "estimation/central_moments.hpp"
#include "icl/known_loss.hpp"
#include "icl/prompt_forms.hpp"
#include "icl/task_posterior.hpp"
#include "largo/icl/law_regression.hpp"
#include "largo/measures/gaussian.hpp"
#include "largo/runtime/check.hpp"
#include "runtime/distribute.hpp"

namespace largo {
namespace {

constexpr const char* kBayesRisk = "bayes_risk";
constexpr std::uint64_t kPosteriorStream = 3;  // after those of prompt_forms.cpp
constexpr double kPoor = 50;                   // effective samples
constexpr int kBisections = 60, kDoublings = 60;

bool is_centred_gaussian(const Measure& law) {
  return dynamic_cast<const GaussianMeasure*>(&law) != nullptr && law.mean().isZero(0);
}

// A Gaussian posterior has the output of ridge regression in its middle: the best for a loss that takes both
// sides alike.
bool ridge_is_best(const RegressionLaws& laws, const Loss& loss) {
  return is_centred_gaussian(*laws.prior) && laws.noise && is_centred_gaussian(*laws.noise) &&
         !laws.noise_scale &&
         (loss.quadratic_factor() || dynamic_cast<const icl::KnownLoss*>(&loss) != nullptr);
}

// The output that minimises the weighted mean of the loss.
double best_output(const Loss& loss, const Vector& targets, const Vector& weights) {
  if (loss.quadratic_factor()) return weights.dot(targets);
  const RowMatrix rows = targets;
  const auto slope = [&](double output) {
    return weights.dot(loss.rows(RowMatrix::Constant(rows.rows(), 1, output), rows).slopes.col(0));
  };
  double low = targets.minCoeff(), high = targets.maxCoeff();
  const double size = std::max({high - low, std::abs(low), std::abs(high)});
  double step = size > 0 ? size : 1;
  for (int i = 0; i < kDoublings && slope(low) > 0; ++i, step *= 2) low -= step;
  for (int i = 0; i < kDoublings && slope(high) < 0; ++i, step *= 2) high += step;
  for (int i = 0; i < kBisections && low < high; ++i) {
    const double middle = low + (high - low) / 2;
    (slope(middle) < 0 ? low : high) = middle;
  }
  return low + (high - low) / 2;
}

// The columns of a row of results.
enum Column : std::uint8_t { kOutput, kFirstHalf, kSecondHalf, kEffective, kTarget, kColumns };

void predict(const PromptSetting& setting, const icl::TaskPosterior& posterior, std::int64_t index,
             const Execution& execution, std::span<double> row) {
  const icl::PreparedPrompt prompt = icl::prepare_prompt(setting, index, icl::KeepTokens::yes, execution);
  const Stream stream = Stream(setting.seed, static_cast<std::uint64_t>(index)).substream(kPosteriorStream);
  const icl::TaskPosterior::Samples samples = posterior.sample(prompt.matrix, stream, execution);
  const Vector targets = samples.tasks.transpose() * prompt.query.head(samples.tasks.rows());
  const auto output = [&](Eigen::Index first, Eigen::Index count) {
    const Vector weights = samples.weights.segment(first, count);
    const double sum = weights.sum();  // half of a few good samples may have none of them
    return sum > 0 ? best_output(*setting.loss, targets.segment(first, count), weights / sum)
                   : targets.mean();
  };
  const Eigen::Index n = targets.size(), half = n / 2;
  row[kTarget] = prompt.target[0];
  row[kEffective] = samples.effective;
  row[kOutput] = row[kFirstHalf] = row[kSecondHalf] = output(0, n);
  if (posterior.is_finite() || half == 0) return;
  row[kFirstHalf] = output(0, half);
  row[kSecondHalf] = output(n - half, half);
}

}  // namespace

std::optional<BayesRisk> bayes_risk(const PromptSetting& setting, std::int64_t prompts,
                                    const Execution& execution) {
  icl::check(setting, kBayesRisk);
  if (prompts < 2) fail(kBayesRisk, "prompts", static_cast<double>(prompts), "at least 2");
  const auto* regression = dynamic_cast<const LawRegression*>(setting.task.get());
  if (regression == nullptr || setting.length.is_infinite() ||
      ridge_is_best(regression->laws(), *setting.loss)) {
    return std::nullopt;
  }
  const std::optional<icl::TaskPosterior> posterior = icl::TaskPosterior::of(regression->laws());
  if (!posterior) return std::nullopt;

  PromptSetting drawn = setting;
  drawn.attention = AttentionKind::softmax;
  drawn.sampling = PromptSampling::always;
  const runtime::AlignedVector<double> rows = runtime::distribute_rows(
      prompts, kColumns, execution,
      [&](std::ptrdiff_t i, std::span<double> row) { predict(drawn, *posterior, i, execution, row); });
  const Eigen::Map<const RowMatrix> found(rows.data(), prompts, kColumns);
  const auto losses_of = [&](Column column) {
    return setting.loss->rows(found.col(column), found.col(kTarget)).values;
  };
  const Vector losses = losses_of(kOutput);
  check_finite(kBayesRisk, "the loss", losses);
  estimation::CentralMoments values;
  for (const double loss : losses) values.add(loss);
  BayesRisk risk;
  risk.value = values.mean;
  risk.error = std::sqrt(values.variance() / values.n);
  risk.is_sampled = !posterior->is_finite();
  // What the noise of the samples adds falls like one over their number: halves have twice as much.
  risk.excess = (0.5 * (losses_of(kFirstHalf) + losses_of(kSecondHalf)) - losses).mean();
  risk.poor =
      static_cast<double>((found.col(kEffective).array() < kPoor).count()) / static_cast<double>(prompts);
  risk.prompts = prompts;
  return risk;
}

}  // namespace largo
