// Descents on batches of in-context regression, many at a time: the interface between host and device.
#pragma once

#include <cstddef>
#include <cstdint>

#include "icl/loss_form.hpp"
#include "largo/attention/attention_kind.hpp"
#include "largo/icl/parametrisation.hpp"
#include "largo/training/optimizer.hpp"
#include "portable.cuh"
#include "prompts/prompt_layout.hpp"
#include "token_law.hpp"

namespace largo::cuda {

/// A law that prompts of other problems draw: the tokens are offset + map x, with standard tokens x.
struct DescentLaw {
  TokenLaw tokens;
  const double* map = nullptr;     // by columns
  const double* offset = nullptr;  // null: none
};

/// The laws of other problems than Gaussian regression (src/icl/fused_regression.hpp), with one output.
struct DescentLaws {
  DescentLaw covariates, queries, prior;
  bool has_noise = false, has_noise_scale = false;
  prompts::NoiseDraws noise_draws = prompts::NoiseDraws::lanes;
  DescentLaw noise, noise_scale;  // of one coordinate each
  std::int32_t warps = 1;         // of a block of threads that draw prompts, each with a chunk of its own
  icl::LossForm loss;

  /// Standard tokens of covariates and noise.
  LARGO_HOST_DEVICE int base() const { return covariates.tokens.dimension + (has_noise ? 1 : 0); }
  /// Rows of a chunk of tokens: the numbers that covariates are made from, then the noise.
  LARGO_HOST_DEVICE int rows() const { return noise_row() + (has_noise ? 1 : 0); }
  LARGO_HOST_DEVICE int noise_row() const { return covariates.tokens.drawn; }
};

/// What all runs share. Matrices are stored by columns; addresses are on the device.
struct DescentSetting {
  std::int32_t dimension = 1;  // d, up to kMostDimensions
  Parametrisation parameters = Parametrisation::merged;
  Optimizer optimizer = Optimizer::plain;
  std::int64_t prompts = 1;  // in a batch
  double noise = 0, score_scale = 1, loss_factor = 1;
  double momentum = 0, squares = 0, epsilon = 0, divergence_factor = 0;
  std::int64_t record_every = 0;  // 0: no records
  std::int64_t most_records = 0;  // of a run in one launch
  const double *token_root = nullptr, *query_root = nullptr, *prior_root = nullptr;
  bool has_laws = false;  // other laws, in place of these roots and of `noise`
  DescentLaws laws;
  const double* step_sizes = nullptr;  // for the steps from first_step on
  std::int64_t first_step = 0;
  double* values = nullptr;   // for each run: parameters, momentum and squares, equally many numbers each
  double* records = nullptr;  // for each run: most_records times step, time, loss, parameters
  double* rows = nullptr;     // for each run: two sets of what its prompts leave to be summed
};

enum class Ending : std::int32_t {
  in_order,
  refused,    // the batch of `step` is out of bounds; the state is the one before it
  not_finite  // the parameters after `step` are not finite
};

/// The state of one run between two launches.
struct DescentRun {
  std::int64_t length = 1;
  std::uint64_t seed = 1;
  AttentionKind attention = AttentionKind::softmax;
  Ending ending = Ending::in_order;
  std::int64_t step = 0, until = 0;
  double time = 0, momentum_power = 1, squares_power = 1, first_loss = 0, loss_sum = 0;
  std::int64_t loss_count = 0, records = 0;
  std::int64_t place = 0;  // number of its values, records and rows
};

inline constexpr int kMostDimensions = 31;
inline constexpr int kRecordHead = 3;  // step, time, loss

/// Counts of numbers for one run.
LARGO_HOST_DEVICE constexpr std::size_t parameter_count(int d, Parametrisation parameters) {
  const auto n = static_cast<std::size_t>(d + 1);
  if (parameters == Parametrisation::invariant) return static_cast<std::size_t>(d * d) + 1;
  return parameters == Parametrisation::merged ? n * n + n : 3 * n * n + n;
}
LARGO_HOST_DEVICE constexpr std::size_t row_width(int d) {
  return static_cast<std::size_t>((d + 1) * (d + 1)) + 1;
}
/// With other laws: query, slope times spread, slope times mean, and loss of a prompt.
LARGO_HOST_DEVICE constexpr std::size_t law_row_width(int d) { return static_cast<std::size_t>(3 * d + 3); }
LARGO_HOST_DEVICE constexpr std::size_t block_count(std::int64_t prompts) {
  return static_cast<std::size_t>((prompts + prompts::kPromptsInBlock - 1) / prompts::kPromptsInBlock);
}

/// Numbers that the prompts of one step of a run leave.
LARGO_HOST_DEVICE std::size_t step_numbers(const DescentSetting& setting) {
  return setting.has_laws ? static_cast<std::size_t>(setting.prompts) * law_row_width(setting.dimension)
                          : block_count(setting.prompts) * row_width(setting.dimension);
}

}  // namespace largo::cuda
