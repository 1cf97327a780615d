// One draw of a task in the form that its average over prompts is computed from, and what a head makes of it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "largo/exact/softmax_table.hpp"
#include "largo/icl/prompt_setting.hpp"
#include "largo/runtime/execution.hpp"
#include "prompts/token_sums.hpp"
#include "runtime/aligned_vector.hpp"

namespace largo::icl {

enum class PromptForm : std::uint8_t {
  tokens,    ///< matrix: the prompt, L x d
  drawn,     ///< law, stream: the prompt is drawn again, a chunk at a time, whenever it is attended over
  moment,    ///< matrix: (1/L) Σ z zᵀ, all that linear attention sees
  law,       ///< law: L = ∞
  gaussian,  ///< matrix: a root of the covariance of the tokens, with their mean; for averages over prompts
};

struct PreparedPrompt {
  PromptForm form = PromptForm::tokens;
  double L = 0;
  Vector query, target;
  Matrix matrix;
  Vector mean;
  MeasurePtr law;
  std::optional<Stream> stream;
};

/// Throws InputError unless the setting makes sense.
void check(const PromptSetting& setting, const char* function);

/// Draws number `index` and prepares it. Softmax attention is the same to the bit over tokens that are kept
/// and over tokens that are drawn again. Throws Stopped.
enum class KeepTokens : std::uint8_t { yes, no };
PreparedPrompt prepare_prompt(const PromptSetting& setting, std::int64_t index, KeepTokens keep,
                              const Execution& execution);

/// The number of tokens of draw `index`: L, or one drawn from the law of lengths.
double drawn_length(const PromptSetting& setting, std::int64_t index);

/// How the average over this draw's prompts is known.
PromptAverage average_of(const PreparedPrompt& prompt);

/// The sizes of a head, and where the numbers of one draw are in a row.
///
/// A draw whose output is compared by the loss gives its output o, the mean m and the spread C Vᵀ (d x m,
/// column by column) of the tilted prompt, with C its covariance: the gradients are then slope mᵀ in V and
/// C Vᵀ slope along a. (Linear attention has S a and S Vᵀ in their place.) A draw whose loss is averaged
/// exactly gives the loss and these gradients at once.
struct RowLayout {
  explicit RowLayout(const PromptTask& task)
      : d(task.token_dimension()), e(task.query_dimension()), m(task.output_dimension()) {}

  Eigen::Index d, e, m;
  Eigen::Index parameters() const { return d * e + m * d; }
  // 0: whether the loss is known; 1: the loss; then these.
  Eigen::Index output() const { return 2; }
  Eigen::Index target() const { return 2 + m; }
  Eigen::Index query() const { return 2 + 2 * m; }
  Eigen::Index vector() const { return query() + e; }   ///< m, or the gradient along a
  Eigen::Index matrix() const { return vector() + d; }  ///< C Vᵀ, or the gradient in V row by row
  std::size_t width() const { return static_cast<std::size_t>(matrix() + d * m); }
};

/// A head with given parameters. It has scratch memory: use one on each thread.
class PromptHead {
 public:
  PromptHead(const PromptSetting& setting, const ConstVectorRef& parameters, const Execution& execution);

  /// Writes the numbers of one draw into a row of zeros. Throws Stopped.
  void respond(const PreparedPrompt& prompt, std::span<double> row);

 private:
  void attend_tokens(const PreparedPrompt& prompt, const Vector& a, std::span<double> row);
  void fill_chunk(const PreparedPrompt& prompt, Eigen::Index first, Eigen::Index count);
  void average_softmax(const PreparedPrompt& prompt, const Vector& a, std::span<double> row) const;
  void average_linear(const PreparedPrompt& prompt, const Vector& a, std::span<double> row) const;

  const PromptSetting& setting_;
  const Execution& execution_;
  RowLayout layout_;
  Matrix U_, V_;
  std::shared_ptr<const SoftmaxTable> table_;
  prompts::TokenSums<double> sums_;
  runtime::AlignedVector<double> chunk_;
  RowMatrix rows_;  // tokens of a chunk, as they are drawn
};

}  // namespace largo::icl
