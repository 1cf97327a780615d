// Descents on batches of in-context regression, many at a time, on a device.
#pragma once

#include <cstdint>
#include <exception>
#include <filesystem>
#include <memory>
#include <optional>
#include <vector>

#include "largo/icl/parametrisation.hpp"
#include "largo/icl/prompt_setting.hpp"
#include "largo/icl/regression_batches.hpp"
#include "largo/runtime/device.hpp"
#include "largo/training/stochastic_descent.hpp"

namespace largo::icl {

/// One descent: what it draws, its state, and where that is saved (empty: nowhere).
struct RegressionDescent {
  RegressionBatches batches = {};
  /// For another problem: what its batches draw, with the length and attention of `batches`.
  std::optional<PromptSetting> prompts = {};
  DescentState state = {};
  std::filesystem::path checkpoint = {};
  std::exception_ptr error = nullptr;  ///< why it ended before its last step
};

/// The batches of a run, in (U, v).
std::shared_ptr<const StochasticRisk> batches_of(const RegressionProblem& problem,
                                                 const RegressionDescent& run);

class DescentEngine : public Engine {
 public:
  /// Takes every run from its state to options.steps steps, with the same bits as descend() for the risk
  /// in_parameters(batches_of()). Either all runs are of `problem`, or all have `prompts` of the same task,
  /// loss and scale. A run that ends early has the exception of descend() in `error`,
  /// and ends the others, which are saved. options.checkpoint is not read; options.progress is called with
  /// the share of all work done. Throws Stopped if options.execution.stop is set, with the checkpoints of
  /// that moment. InputError for what the device cannot do.
  virtual void descend(const RegressionProblem& problem, Parametrisation parameters,
                       const DescentOptions& options, std::vector<RegressionDescent>& runs) const = 0;
};

}  // namespace largo::icl
