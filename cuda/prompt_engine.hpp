// Prompts drawn on a GPU.
#pragma once

#include "prompts/prompt_engine.hpp"

namespace largo::cuda {

class Labels;

/// How much a launch does; the results are bit-identical for all values.
struct PromptLimits {
  std::int64_t held_numbers = std::int64_t{1} << 25;  // sums of chunks, in float64
  std::int64_t launch_work = std::int64_t{1} << 34;   // thread instructions per multiprocessor, about 0.15 s
};

class CudaPrompts final : public prompts::PromptEngine {
 public:
  explicit CudaPrompts(int device, const PromptLimits& limits = {}) : device_(device), limits_(limits) {}
  void sum_tokens(std::span<const prompts::LeafSums> leaves, prompts::SumOrder order,
                  const prompts::PromptRange& range, const Execution& execution) const override;
  void sum_scores(std::uint64_t lane, std::span<const double> rates, std::span<const double> shifts,
                  const prompts::PromptRange& range, const Execution& execution,
                  std::span<double> rows) const override;

 private:
  void sum_leaf(std::span<const prompts::LeafSums> leaves, std::size_t k, Labels* labels,
                prompts::SumOrder order, const prompts::PromptRange& range, const Execution& execution) const;

  int device_;
  PromptLimits limits_;
};

}  // namespace largo::cuda
