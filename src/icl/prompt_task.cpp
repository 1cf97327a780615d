#include "largo/icl/prompt_task.hpp"

#include "largo/runtime/check.hpp"

namespace largo {

Vector PromptTask::learn(const Matrix& /*second_moment*/, double /*L*/, const Vector& /*query*/) const {
  fail("PromptTask", "this task has no learner to compare with");
}

}  // namespace largo
