// Compares the exact engine with the sampling engine: the same errors of attention, computed and simulated.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "largo/estimation/attention_errors.hpp"
#include "largo/exact/gaussian_error.hpp"

namespace largo::estimation {

struct ErrorSimulation {
  std::uint64_t seed = 1;
  int dimension = 3;
  std::vector<std::int64_t> lengths = {1, 3, 10, 30, 100};
  std::int64_t prompts = 20000;  ///< per length
  /// A negative control: the exact errors are those of the transposed U, so they must not agree.
  bool transposed = false;
};

/// Errors over Gaussian tokens.
struct SimulatedErrors {
  std::int64_t length = 0;
  AttentionError exact;
  SampledErrors sampled;

  /// The largest distance of output, gradient_V and gradient_U, in standard errors.
  double worst_z_score() const;
};

/// Each length has its own random covariance, U, V and query, and every coordinate of every token is drawn.
/// The distance is in standard errors of the prompts drawn: `sampled.warnings` says where these miss rare
/// tokens. Cost: prompts · Σ lengths tokens.
std::vector<SimulatedErrors> simulate_gaussian_errors(const ErrorSimulation& settings,
                                                      const Execution& execution = {});

/// One error over tokens of another law: that of the output, or that of the gradient in U.
struct SimulatedLaw {
  std::string law;
  std::string error;  ///< "output" or "gradient in U"
  std::int64_t length = 0;
  Estimate exact;  ///< from the score law (score_law_error.hpp)
  SampledMean sampled;

  double z_score() const;
};

/// Rademacher, sphere, elliptical and mixed tokens at each length, with random U, V and query.
std::vector<SimulatedLaw> simulate_law_errors(const ErrorSimulation& settings,
                                              const Execution& execution = {});

}  // namespace largo::estimation
