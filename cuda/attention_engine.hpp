// Attention over a given prompt on a GPU.
#pragma once

#include "measures/tilt_engine.hpp"

namespace largo::cuda {

class CudaTilts final : public TiltEngine {
 public:
  explicit CudaTilts(int device) : device_(device) {}
  void sum_prompt(const ArrayView& tokens, const ConstMatrixRef& directions, const ConstVectorRef& centre,
                  bool covariance, const Execution& execution, std::span<double> rows) const override;

 private:
  int device_;
};

}  // namespace largo::cuda
