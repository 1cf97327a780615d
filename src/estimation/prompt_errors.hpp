// The errors of attention over one sampled prompt, by each of the kernels.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "estimation/query_limit.hpp"
#include "largo/estimation/error_sampling.hpp"
#include "largo/measures/token_leaf.hpp"
#include "prompts/prompt_engine.hpp"

namespace largo::estimation {

/// Of one prompt; with PromptKernel::collapsed, averaged over what its scores leave open.
struct PromptErrors {
  double output = 0, gradient_V = 0, gradient_U = 0;
  double p2 = 0;
  double log_partition = 0;
  Vector bias;
};

/// Draws prompts. Keeps scratch memory: one for each thread.
class PromptErrorKernel {
 public:
  virtual ~PromptErrorKernel() = default;
  /// Prepares for prompts at this query, which must stay alive.
  virtual void aim(const QueryLimit& limit) = 0;
  virtual void draw(std::uint64_t prompt, PromptErrors& errors) = 0;
};

/// A law to draw prompts of, and the values to read from them.
struct PromptLaw {
  PromptLaw(const Measure& measure, const ConstMatrixRef& values)
      : law(measure), V(values), leaves(measure.token_leaves()) {}
  PromptLaw(const PromptLaw&) = delete;
  PromptLaw& operator=(const PromptLaw&) = delete;

  const Measure& law;
  const Matrix V;
  const std::vector<TokenLeaf> leaves;
};

/// Numbers of a prompt that a device has summed.
std::size_t prepared_numbers(const PromptLaw& law, const ErrorSampling& sampling);

/// Sums of the prompts [first, first + count) by the device of `execution`, for draw() to find: at one
/// direction, or at one for each (columns). InputError for laws and precisions that it has no kernel for.
void prepare_prompts(const PromptLaw& law, const ErrorSampling& sampling, const Matrix& directions,
                     std::uint64_t first, std::int64_t count, const Execution& execution,
                     prompts::PreparedPrompts& prepared);

/// The kernel that `sampling` asks for; it draws prompts itself, or takes them from `prepared` where that is
/// not null. InputError where the law does not allow it. All must outlive the kernel.
std::unique_ptr<PromptErrorKernel> make_prompt_error_kernel(
    const PromptLaw& law, const ErrorSampling& sampling, const Execution& execution,
    const prompts::PreparedPrompts* prepared = nullptr);

}  // namespace largo::estimation
