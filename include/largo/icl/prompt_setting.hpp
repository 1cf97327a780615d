// What the risks of prompt_risk.hpp are averages of: a task, a loss, a law of lengths, and numbered draws.
#pragma once

#include <cstdint>
#include <limits>

#include "largo/attention/attention_kind.hpp"
#include "largo/exact/length_law.hpp"
#include "largo/icl/loss.hpp"
#include "largo/icl/prompt_task.hpp"

namespace largo {

/// When prompts are drawn: only where averages over them are not known exactly, or always, as for a fixed set
/// of prompts to train on.
enum class PromptSampling : std::uint8_t { where_needed, always };

struct PromptSetting {
  PromptTaskPtr task;
  LossPtr loss;
  /// L, or a law of lengths. Prompts that are drawn have whole lengths; each then draws its own.
  LengthLaw length = std::numeric_limits<double>::infinity();
  AttentionKind attention = AttentionKind::softmax;
  double score_scale = 1;
  std::uint64_t seed = 1;
  PromptSampling sampling = PromptSampling::where_needed;
};

/// Draw number `index` (from 0). Its `tokens` are the prompt of L tokens as an EmpiricalMeasure, or the law
/// if L = ∞. It depends only on the setting's task, length and seed, and on the index. InputError if the task
/// draws something of another dimension or something that is not finite.
PromptDraw draw_prompt(const PromptSetting& setting, std::int64_t index);

/// The largest prompt that is drawn, in numbers (L times the dimension of the tokens).
inline constexpr double kLargestPrompt = 536870912;  // 2^29, 4 GiB

/// How the average over prompts is known.
enum class PromptAverage : std::uint8_t { exact, limit, sampled };
const char* name_of(PromptAverage average);

}  // namespace largo
