// Descents on a GPU.
#pragma once

#include "icl/training/descent_engine.hpp"

namespace largo::cuda {

class CudaDescents final : public icl::DescentEngine {
 public:
  explicit CudaDescents(int device) : device_(device) {}
  void descend(const RegressionProblem& problem, Parametrisation parameters, const DescentOptions& options,
               std::vector<icl::RegressionDescent>& runs) const override;

 private:
  int device_;
};

}  // namespace largo::cuda
