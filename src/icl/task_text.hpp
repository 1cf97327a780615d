// The text of a task file as plain values. Laws and matrices are still texts here: none of the files that
// they name is opened.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "largo/runtime/matrix.hpp"

namespace largo::icl {

inline constexpr std::ptrdiff_t kMostOutputs = 50;

/// A text and the line that it is in; line 0 for a default.
struct TaskWord {
  std::string text = {};
  std::size_t line = 0;
};

struct TaskComponent {
  double weight = 0;
  TaskWord law = {};
  std::optional<Vector> shift = {};
};

/// A law: a text (named_law.hpp), or the components of a mixture. Neither if it is not given.
struct TaskLaw {
  TaskWord name = {};
  std::vector<TaskComponent> mixture = {};

  bool given() const { return !name.text.empty() || !mixture.empty(); }
};

enum class TaskKind : std::uint8_t { regression, classification };

struct TaskText {
  TaskKind kind = TaskKind::regression;
  std::ptrdiff_t dimension = 0;  ///< from 1 to kMostProblemDimensions
  TaskWord loss;
  double score_scale = 1;
  // of a regression
  TaskLaw covariates, queries, prior;  ///< on R^dimension
  TaskLaw noise;                       ///< on R^outputs
  TaskLaw noise_scale;                 ///< on the line; only with noise
  std::ptrdiff_t outputs = 1;          ///< from 1 to kMostOutputs
  // of a classification
  double mean_scale = 1;
  TaskWord covariance;
};

/// `file` is its name in messages. InputError, in one line that begins with file and line, for a text that is
/// not TOML, an unknown or missing key, a value of the wrong type or out of range.
TaskText parse_task(const std::string& text, const std::string& file);

}  // namespace largo::icl
