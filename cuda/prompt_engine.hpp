// Prompts drawn on a GPU.
#pragma once

#include "sampling/prompt_engine.hpp"

namespace largo::cuda {

class CudaPrompts final : public PromptEngine {
 public:
  explicit CudaPrompts(int device) : device_(device) {}
  void sum_tokens(const TokenLeaf& leaf, std::uint64_t first_lane, SumOrder order,
                  std::span<const double> directions, const PromptRange& range, const Execution& execution,
                  std::span<double> rows) const override;
  void sum_scores(std::uint64_t lane, std::span<const double> rates, std::span<const double> shifts,
                  const PromptRange& range, const Execution& execution,
                  std::span<double> rows) const override;

 private:
  int device_;
};

}  // namespace largo::cuda
