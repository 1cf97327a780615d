// Prompts of in-context regression with any laws, drawn and attended over in one pass, in float32.
//
// Tokens are z = o + B β, where β are the standard tokens of covariates and noise (token_leaf.hpp) and
// B = [[M_x, 0], [W M_x, s M_ε]]. The kernel sums over β; B is applied once per prompt.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "icl/prompt_forms.hpp"
#include "largo/icl/law_regression.hpp"
#include "largo/measures/token_leaf.hpp"
#include "prompts/token_source.hpp"
#include "prompts/token_sums.hpp"
#include "runtime/aligned_vector.hpp"

namespace largo::icl {

/// A law as one leaf, with its map as a matrix. Mixtures sample themselves.
struct FusedLaw {
  FusedLaw(const Measure& law, std::uint64_t first_lane);

  TokenLeaf leaf;
  Matrix map;     // from standard tokens to those of the law
  Vector offset;  // of the law's size
  std::uint64_t lane;
};

/// The laws of a task, with their lanes. They must outlive this.
struct FusedLaws {
  explicit FusedLaws(const RegressionLaws& laws);

  FusedLaw covariates, queries, prior;
  std::optional<FusedLaw> noise, noise_scale;
  Eigen::Index outputs;
};

/// Draws and attends with given parameters. It has scratch memory: use one on each thread.
class FusedHead {
 public:
  FusedHead(const FusedLaws& laws, const PromptSetting& setting, const ConstVectorRef& parameters);

  /// Writes the numbers of prompt `index`, of L tokens, into a row of zeros. Throws Stopped.
  void respond(std::uint64_t index, std::int64_t L, const Execution& execution, std::span<double> row);

 private:
  struct Part {
    Part(const FusedLaw& law);
    const FusedLaw* law;
    std::unique_ptr<prompts::TokenSource<float>> source;
  };
  Matrix draw_rows(Part& part, std::uint64_t index, Eigen::Index count);
  void attend(std::uint64_t index, std::int64_t L, const Execution& execution);

  const FusedLaws& laws_;
  std::uint64_t seed_;
  double score_scale_;
  RowLayout layout_;
  Matrix U_, V_;
  Part covariates_, queries_, prior_;
  std::optional<Part> noise_, noise_scale_;
  Eigen::Index base_;  // dimension of β
  prompts::TokenSums<float> sums_;
  runtime::AlignedVector<float> chunk_;
};

}  // namespace largo::icl
