// The laws of another in-context problem on the device, for descents.
#pragma once

#include <vector>

#include "descent_layout.hpp"
#include "icl/fused_regression.hpp"
#include "largo/icl/prompt_setting.hpp"
#include "staged_law.hpp"

namespace largo::cuda {

/// InputError, in the name of `function`, unless kernels know this kind of problem: regression with one
/// output, softmax attention, and the squared, Huber's or the absolute loss.
void check_device_task(const char* function, const PromptSetting& setting);

class StagedLaws {
 public:
  /// InputError for laws that kernels cannot draw.
  StagedLaws(const char* function, const PromptSetting& setting);

  const DescentLaws& laws() const { return laws_; }
  int dimension() const { return dimension_; }  ///< number of covariates

 private:
  DescentLaw add(const char* function, const icl::FusedLaw& law);

  icl::FusedLaws fused_;
  DescentLaws laws_;
  int dimension_;
  std::vector<StagedLaw> staged_;
  std::vector<DeviceArray<double>> numbers_;  // maps and offsets
};

}  // namespace largo::cuda
