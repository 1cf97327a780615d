// The exact errors of gaussian_error.hpp against simulation of whole prompts, attention by its definition.
#pragma once

#include <cstdint>
#include <vector>

#include "largo/exact/gaussian_error.hpp"
#include "largo/numerics/execution.hpp"

namespace largo {

struct ErrorSimulation {
  std::uint64_t seed = 1;
  int dimension = 3;
  std::vector<std::int64_t> lengths = {1, 3, 10, 30, 100};
  std::int64_t prompts = 20000;  ///< per length
};

struct SimulatedErrors {
  std::int64_t length = 0;
  AttentionError exact;
  Estimate output, gradient_V, gradient_U;  ///< simulated, with their standard errors

  /// Largest of the three distances, in standard errors.
  double worst_z_score() const;
};

/// For each length its own random covariance, U, V and query. Cost: prompts · Σ lengths tokens.
std::vector<SimulatedErrors> simulate_gaussian_errors(const ErrorSimulation& settings,
                                                      const Execution& execution = {});

}  // namespace largo
