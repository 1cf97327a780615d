// In-context learning in general. First a task is drawn; then tokens that are i.i.d. given the task, a query
// and its target. Attention sees the tokens and the query, and a loss (loss.hpp) compares its output with the
// target.
#pragma once

#include <memory>
#include <string>

#include "largo/measures/measure.hpp"

namespace largo {

struct PromptDraw {
  MeasurePtr tokens;  ///< the law of the tokens given the task
  Vector query;
  Vector target;
};

/// Derive from this class to define your own task. It must be thread-safe: draws are made on many threads.
class PromptTask {
 public:
  virtual ~PromptTask() = default;
  virtual Eigen::Index token_dimension() const = 0;
  virtual Eigen::Index query_dimension() const = 0;
  virtual Eigen::Index output_dimension() const { return 1; }  ///< that of the target
  /// Draws a task, its query and its target, as a function of the stream alone. Different streams are
  /// independent.
  virtual PromptDraw draw(const Stream& stream) const = 0;

  // A learner to compare with, which knows the laws of the task and sees the prompt and the query.

  /// Its name, for tables: "ridge", "bayes". Empty if there is none.
  virtual std::string learner() const { return {}; }
  /// Its output for a prompt of L tokens (L may be ∞) with second moment (1/L) Σ z zᵀ.
  virtual Vector learn(const Matrix& second_moment, double L, const Vector& query) const;
};

using PromptTaskPtr = std::shared_ptr<const PromptTask>;

}  // namespace largo
