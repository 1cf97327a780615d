// Errors along a path of parameters (U_t, V_t), as training draws one: the paper's statement that
// concentration is stable along a trajectory is about their supremum.
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

/// The errors over prompts of L tokens at each point of the path, by one method, and the largest of each. Of
/// the plan, what is about sampling is looked at. Sampled points use the same prompts (and queries), so that
/// errors along the path vary as smoothly as the parameters do. Domain and cost: concentration_grid; exact
/// points in parallel, sampled ones one after the other, each in parallel over its prompts.
PathErrors errors_along_path(const MeasurePtr& tokens, const Queries& queries,
                             std::span<const PathPoint> path, double L, ErrorMethod method,
                             const ConcentrationPlan& plan = {}, const Execution& execution = {});

}  // namespace largo
