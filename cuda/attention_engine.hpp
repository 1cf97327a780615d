// Attention over a given prompt on a GPU.
#pragma once

#include "given_prompt.hpp"

namespace largo::cuda {

class CudaTilts final : public measures::TiltEngine {
 public:
  explicit CudaTilts(int device, const GivenLimits& limits = {}) : device_(device), limits_(limits) {}
  std::shared_ptr<measures::KeptPrompt> keep(const ArrayView& tokens) const override {
    return std::make_shared<GivenPrompt>(device_, tokens, limits_, shelf_);
  }

 private:
  int device_;
  GivenLimits limits_;
  std::shared_ptr<StagingShelf> shelf_ = std::make_shared<StagingShelf>();
};

}  // namespace largo::cuda
