// Prompts of in-context regression with any laws, drawn and attended over in one pass, in float32.
//
// Tokens are z = o + B β, where β are the standard tokens of covariates and noise (token_leaf.hpp) and
// B = [[M_x, 0], [W M_x, s M_ε]]. The kernel sums over β; B is applied once per prompt. Tasks and queries are
// drawn for a block of prompts at a time, and so are the products with matrices that all prompts share.
//
// With one output every sum has a fixed order, that of padded_rows.hpp or of its index: cuda/law_prompt.cuh
// is its twin.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "icl/prompt_forms.hpp"
#include "largo/icl/law_regression.hpp"
#include "largo/measures/token_leaf.hpp"
#include "prompts/padded_rows.hpp"
#include "prompts/token_source.hpp"
#include "prompts/token_sums.hpp"
#include "runtime/aligned_vector.hpp"

namespace largo::icl {

/// The prompts of a block, at most.
inline constexpr std::int64_t kFusedPrompts = 16;

/// A law as one leaf, with its map as a matrix. Mixtures sample themselves.
struct FusedLaw {
  FusedLaw(const Measure& law, std::uint64_t first_lane);

  TokenLeaf leaf;
  Matrix map;     // from standard tokens to those of the law
  Vector offset;  // of the law's size
  std::uint64_t lane;
  prompts::RightFactor push, pull;  // apply the map, or its transpose, to rows
  bool has_offset;
  prompts::PaddedRows padded_offset;  // one row
};

/// The laws of a task, with their lanes: covariates and noise in the stream of a prompt, the others in those
/// of tasks. The laws must outlive this.
struct FusedLaws {
  explicit FusedLaws(const RegressionLaws& laws);

  FusedLaw covariates;
  std::optional<FusedLaw> noise;
  FusedLaw queries, prior;
  std::optional<FusedLaw> noise_scale;
  std::size_t outputs;

  std::size_t dimension() const { return prompts::size_of(covariates.map.rows()); }
  /// Dimensions of the standard tokens, of covariates and with the noise.
  std::size_t covariate_base() const { return prompts::size_of(covariates.map.cols()); }
  std::size_t base() const { return covariate_base() + (noise ? prompts::size_of(noise->map.cols()) : 0); }
  /// Tokens of the prior in a task: its rows, or all of it at once.
  std::size_t task_tokens() const;
};

/// Draws and attends with given parameters. It has scratch memory: use one on each thread.
class FusedHead {
 public:
  FusedHead(const FusedLaws& laws, const PromptSetting& setting, const ConstVectorRef& parameters);

  /// Writes the numbers of prompts first, ..., first + count - 1 (count <= kFusedPrompts) into rows of zeros.
  /// Throws Stopped.
  void respond(std::int64_t first, std::int64_t count, const Execution& execution, std::span<double> rows);

 private:
  struct Part {
    explicit Part(const FusedLaw& law);
    const FusedLaw* law;
    std::unique_ptr<prompts::TokenSource<float>> source;
  };
  void draw_tasks(std::uint64_t first, std::size_t count);
  void draw_rows(Part& part, std::uint64_t first, std::size_t count, std::size_t each,
                 prompts::PaddedRows& rows);
  double noise_along(std::size_t n, std::size_t column, const double* labels) const;
  void aim(std::size_t n);
  double scale_values(double* b) const;
  void attend(std::size_t n, std::uint64_t index, std::int64_t L, const Execution& execution);
  void take_sums(std::size_t n);
  void write(std::size_t n, double* row);
  double label(std::size_t n, std::size_t k, const double* base) const;
  const double* whitened(std::size_t n, std::size_t k) const { return whitened_.row(n * m_ + k); }
  double* values(std::size_t n, std::size_t k) { return values_.row(n * m_ + k); }

  const FusedLaws& laws_;
  const PromptSetting& setting_;
  RowLayout layout_;
  std::size_t d_, m_, k_, base_;           // covariates, outputs; dimensions of β, of covariates and all
  prompts::RightFactor scores_;            // (c U)ᵀ without the columns that meet the query's zeros
  prompts::PaddedRows V_, shared_values_;  // V, and V_x M_x
  Part queries_, prior_;
  std::optional<Part> noise_scale_;
  std::unique_ptr<prompts::TokenSource<float>> source_;
  prompts::TokenSums<float> sums_;
  runtime::AlignedVector<float> chunk_;
  // One row for each prompt of a block, or for each prompt and output.
  prompts::PaddedRows standard_, tasks_, w_, query_, scale_, u_, whitened_, a_, values_, mean_, spread_,
      token_mean_, token_spread_;
};

}  // namespace largo::icl
