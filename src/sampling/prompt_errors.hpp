// The errors of attention over one sampled prompt, by each of the kernels.
#pragma once

#include <cstdint>
#include <memory>

#include "largo/sampling/attention_errors.hpp"
#include "sampling/query_limit.hpp"

namespace largo {

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

/// The kernel that `sampling` asks for. InputError where the law does not allow it. All must outlive the
/// kernel.
std::unique_ptr<PromptErrorKernel> make_prompt_error_kernel(const Measure& law, const Matrix& V,
                                                            const ErrorSampling& sampling,
                                                            const Execution& execution);

}  // namespace largo
