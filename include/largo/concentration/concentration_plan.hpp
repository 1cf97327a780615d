// A grid of token scales σ and lengths, and the errors at one of its points.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "largo/concentration/certified_bound.hpp"
#include "largo/estimation/sample_means.hpp"
#include "largo/numerics/estimate.hpp"
#include "largo/prompts/prompt_kernel.hpp"

namespace largo {

enum class ErrorMethod : std::uint8_t { exact, sampled };

/// A number with its error bar. An exact number has an estimate of its error; a sampled one has its standard
/// error and a 95 % interval.
struct ErrorBar {
  double value = 0;
  double error = 0;
  double low = 0, high = 0;
};

/// −d ln error / d ln L.
struct LocalExponents {
  std::optional<Estimate> output, gradient_V, gradient_U;  ///< empty if the error is zero or unknown
};

struct ConcentrationRow {
  double sigma = 1;  ///< factor of the tokens
  double L = 1;
  ErrorMethod method = ErrorMethod::exact;
  ErrorBar output, gradient_V;
  std::optional<ErrorBar> gradient_U;  ///< empty in exact rows where it has no formula (exact_errors.hpp)
  std::optional<ErrorBar> gradient_K, gradient_Q;  ///< set by add_factored_gradients, in exact rows
  LocalExponents exponents;                        ///< in exact rows only
  std::optional<CertifiedErrors> certified;  ///< bounds that are theorems; none if missing_bound() says why
  std::optional<ErrorBar> softmax_linear;  ///< E‖T[μ̂_L] − T_lin[μ̂_L]‖²; exact rows, centred Gaussian tokens
  std::optional<double> linear;       ///< E‖T_lin[μ̂_L] − T_lin[μ]‖²; exact rows, Gaussian tokens
  std::int64_t prompts = 0;           ///< number of prompts sampled
  std::vector<std::string> warnings;  ///< warnings of the sampling
};

struct ConcentrationPlan {
  std::vector<double> sigmas = {1};  ///< factors of the tokens
  std::vector<double> lengths;       ///< may include ∞
  bool exact = true;
  bool sampled = false;
  bool exponents = true;
  bool certified = true;
  SamplingPlan sampling;  ///< used at each point; concentration_grid() sets `first` and `drawn`
  TokenPrecision precision = TokenPrecision::float32;
  std::uint64_t seed = 1;
  /// Called with the share of this process's work that is done, from 0 to 1. Calls may come from any thread
  /// and in any order, but one at a time.
  std::function<void(double share)> progress;
};

}  // namespace largo
