// The errors of attention over one sampled prompt, from any of the kernels.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "estimation/query_limit.hpp"
#include "largo/estimation/error_sampling.hpp"
#include "largo/measures/token_leaf.hpp"
#include "prompts/prompt_engine.hpp"

namespace largo::estimation {

/// The errors of one prompt; with PromptKernel::collapsed, averages over what its scores leave open.
struct PromptErrors {
  double output = 0, gradient_V = 0, gradient_U = 0;
  double p2 = 0;
  double log_partition = 0;
  Vector bias;
};

/// Draws prompts. It keeps scratch memory, so each thread needs its own.
class PromptErrorKernel {
 public:
  virtual ~PromptErrorKernel() = default;
  /// Prepares for prompts at this query, which must stay alive.
  virtual void aim(const QueryLimit& limit) = 0;
  virtual void draw(std::uint64_t prompt, PromptErrors& errors) = 0;
};

/// A law to draw prompts from, and the values to read from them.
struct PromptLaw {
  PromptLaw(const Measure& measure, const ConstMatrixRef& values)
      : law(measure), V(values), leaves(measure.token_leaves()) {}
  PromptLaw(const PromptLaw&) = delete;
  PromptLaw& operator=(const PromptLaw&) = delete;

  const Measure& law;
  const Matrix V;
  const std::vector<TokenLeaf> leaves;
};

/// The number of values that a device stores for each prompt.
std::size_t prepared_numbers(const PromptLaw& law, const ErrorSampling& sampling);

/// Sums the prompts [first, first + count) on the device of `execution`, for draw() to read, at one direction
/// or at one for each (columns). InputError for laws and precisions for which it has no kernel.
void prepare_prompts(const PromptLaw& law, const ErrorSampling& sampling, const Matrix& directions,
                     std::uint64_t first, std::int64_t count, const Execution& execution,
                     prompts::PreparedPrompts& prepared);

/// The kernel that `sampling` asks for. It draws prompts itself, or takes them from `prepared` if that is not
/// null. InputError if the law does not allow it. All arguments must outlive the kernel.
std::unique_ptr<PromptErrorKernel> make_prompt_error_kernel(
    const PromptLaw& law, const ErrorSampling& sampling, const Execution& execution,
    const prompts::PreparedPrompts* prepared = nullptr);

}  // namespace largo::estimation
