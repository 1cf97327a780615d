#include "staged_laws.hpp"

#include <span>

#include <fmt/format.h>

#include "icl/known_loss.hpp"
#include "largo/icl/law_regression.hpp"
#include "largo/runtime/check.hpp"

namespace largo::cuda {
namespace {

const RegressionLaws& laws_of(const PromptSetting& setting) {
  return static_cast<const LawRegression&>(*setting.task).laws();
}

void check_narrow(const char* function, const char* law, const DescentLaw& staged, int most) {
  if (staged.tokens.drawn > most) {
    fail(function, fmt::format("numbers that {} is drawn from on a GPU", law),
         static_cast<double>(staged.tokens.drawn), fmt::format("at most {}; train on the CPU", most));
  }
}

}  // namespace

void check_device_task(const char* function, const PromptSetting& setting) {
  if (dynamic_cast<const LawRegression*>(setting.task.get()) == nullptr) {
    fail(function, "only regression is drawn on a GPU: train other tasks on the CPU");
  }
  if (setting.task->output_dimension() != 1) {
    fail(function, "outputs on a GPU", static_cast<double>(setting.task->output_dimension()),
         "1; train several on the CPU");
  }
  if (setting.attention != AttentionKind::softmax) {
    fail(function, "linear attention over prompts that are drawn in full is not on a GPU: train on the CPU");
  }
  if (dynamic_cast<const icl::KnownLoss*>(setting.loss.get()) == nullptr) {
    fail(function,
         "this loss is not known to a GPU, which has squared, huber and absolute: train on the CPU");
  }
}

StagedLaws::StagedLaws(const char* function, const PromptSetting& setting)
    : fused_(laws_of(setting)), dimension_(static_cast<int>(fused_.dimension())) {
  laws_.covariates = add(function, fused_.covariates);
  laws_.queries = add(function, fused_.queries);
  laws_.prior = add(function, fused_.prior);
  check_narrow(function, "a query", laws_.queries, kMostDimensions + 1);
  check_narrow(function, "a task", laws_.prior, kMostDimensions + 1);
  if (fused_.noise) {
    laws_.has_noise = fused_.noise->map.cols() > 0;  // or it is a number
    laws_.noise_draws = prompts::noise_draws(fused_.covariates.leaf, fused_.noise->leaf);
    laws_.noise = add(function, *fused_.noise);
    check_narrow(function, "the noise of a label", laws_.noise, 1);
    laws_.covariates.tokens.spare = laws_.noise_draws == prompts::NoiseDraws::spare ? 1 : 0;
  }
  if (laws_.covariates.tokens.dimension < 1) {
    fail(function, "covariates that do not vary are not drawn on a GPU: train on the CPU");
  }
  check_narrow(function, "a token", laws_.covariates, kMostDimensions + (laws_.has_noise ? 0 : 1));
  if (fused_.noise_scale) {
    laws_.has_noise_scale = true;
    laws_.noise_scale = add(function, *fused_.noise_scale);
    check_narrow(function, "the scale of the noise", laws_.noise_scale,
                 static_cast<int>(random::kTokensAtOnce));
  }
  laws_.loss = static_cast<const icl::KnownLoss&>(*setting.loss).form();
}

DescentLaw StagedLaws::add(const char* function, const icl::FusedLaw& law) {
  staged_.emplace_back(function, law.leaf, law.lane);
  DescentLaw one;
  one.tokens = staged_.back().law();
  numbers_.emplace_back(std::span<const double>(law.map.data(), static_cast<std::size_t>(law.map.size())));
  one.map = numbers_.back().data();
  if (!law.has_offset) return one;
  numbers_.emplace_back(
      std::span<const double>(law.offset.data(), static_cast<std::size_t>(law.offset.size())));
  one.offset = numbers_.back().data();
  return one;
}

}  // namespace largo::cuda
