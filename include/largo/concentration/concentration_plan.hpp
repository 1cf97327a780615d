// A grid of scales and lengths, and the errors at one of its points.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "largo/estimation/sample_means.hpp"
#include "largo/numerics/estimate.hpp"
#include "largo/prompts/prompt_kernel.hpp"

namespace largo {

enum class ErrorMethod : std::uint8_t { exact, sampled };

/// A number with its error bar: of an exact one, the estimate of its error; of a sampled one, its standard
/// error and a 95 % interval.
struct ErrorBar {
  double value = 0;
  double error = 0;
  double low = 0, high = 0;
};

/// −d ln error / d ln L.
struct LocalExponents {
  std::optional<Estimate> output, gradient_V, gradient_U;  ///< none where the error is zero or unknown
};

struct ConcentrationRow {
  double scale = 1;
  double L = 1;
  ErrorMethod method = ErrorMethod::exact;
  ErrorBar output, gradient_V;
  std::optional<ErrorBar> gradient_U;  ///< exact: for Gaussian tokens only
  LocalExponents exponents;            ///< of exact rows
  std::optional<ErrorBar> softmax_linear;  ///< E‖T[μ̂_L] − T_lin[μ̂_L]‖², exact, centred Gaussian tokens
  std::optional<double> linear;            ///< E‖T_lin[μ̂_L] − T_lin[μ]‖², exact, Gaussian tokens
  std::int64_t prompts = 0;                ///< sampled ones
  std::vector<std::string> warnings;  ///< of the sampling
};

struct ConcentrationPlan {
  std::vector<double> scales = {1};
  std::vector<double> lengths;  ///< ∞ is one
  bool exact = true;
  bool sampled = false;
  bool exponents = true;
  SamplingPlan sampling;  ///< for each point; `first` and `drawn` are set here
  TokenPrecision precision = TokenPrecision::float32;
  std::uint64_t seed = 1;
  /// Called with the share of its work that this process has done, from 0 to 1, in any order and from any
  /// thread, one call at a time.
  std::function<void(double share)> progress;
};

}  // namespace largo
