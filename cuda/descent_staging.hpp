// Runs on the device: their state between two launches, and how it is copied back.
#pragma once

#include <vector>

#include "descent_kernel.hpp"
#include "icl/training/descent_engine.hpp"
#include "largo/prompts/regression_gradient.hpp"
#include "runtime.hpp"
#include "staged_laws.hpp"

namespace largo::cuda {

class DescentStage {
 public:
  /// Copies the states of all runs to the device.
  DescentStage(const RegressionTask& task, Parametrisation parameters, const DescentOptions& options,
               const std::vector<icl::RegressionDescent>& descents);
  /// The same for other laws, which must outlive this.
  DescentStage(const StagedLaws& laws, Parametrisation parameters, const DescentOptions& options,
               const std::vector<icl::RegressionDescent>& descents);

  const DescentSetting& setting() const { return setting_; }

  /// Sets the sizes of the steps from `first` on, for the next launch.
  void set_steps(std::int64_t first, const std::vector<double>& sizes);

  /// Run number `i`, as it is sent to the device.
  static DescentRun run_of(std::size_t i, const icl::RegressionDescent& descent, std::int64_t until);

  /// Copies the runs to the device before a launch, and returns their address there.
  DescentRun* send(const std::vector<DescentRun>& runs);
  /// Copies the runs back after the launch.
  void fetch(std::vector<DescentRun>& runs);
  /// Copies the result of a run, with its records, into its state.
  void take(const DescentRun& run, DescentState& state) const;

 private:
  void stage(int dimension, Parametrisation parameters, const DescentOptions& options,
             const std::vector<icl::RegressionDescent>& descents);

  DescentSetting setting_;
  std::size_t count_ = 0;  // number of parameters
  DeviceArray<double> roots_, values_, records_, rows_, sizes_;
  DeviceArray<DescentRun> runs_;
  std::vector<double> host_values_;
};

}  // namespace largo::cuda
