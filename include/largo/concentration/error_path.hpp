// Errors along a path of parameters (U_t, V_t), such as a training run. The paper states that concentration
// is stable along a trajectory; that statement is about the supremum of these errors.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "largo/concentration/concentration_grid.hpp"

namespace largo {

struct PathPoint {
  Matrix U, V;
};

struct Supremum {
  ErrorBar error;
  std::size_t at = 0;  ///< index of the point
};

struct PathErrors {
  Supremum output, gradient_V;
  std::optional<Supremum> gradient_U;
  std::vector<ConcentrationRow> rows;  ///< one for each point
};

/// Computes the errors over prompts of L tokens at each point of the path, by one method, and the largest of
/// each. Only the fields of the plan that concern sampling are used. Sampled points use the same prompts (and
/// queries), so errors along the path vary as smoothly as the parameters do. Domain and cost: those of
/// concentration_grid. Exact points are computed in parallel; sampled ones one after the other, each in
/// parallel over its prompts.
PathErrors errors_along_path(const MeasurePtr& tokens, const Queries& queries,
                             std::span<const PathPoint> path, double L, ErrorMethod method,
                             const ConcentrationPlan& plan = {}, const Execution& execution = {});

}  // namespace largo
