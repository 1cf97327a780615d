#include "largo/concentration/error_path.hpp"

#include "concentration/rows.hpp"
#include "largo/runtime/check.hpp"
#include "runtime/distribute.hpp"

namespace largo {
namespace {

constexpr const char* kErrorsAlongPath = "errors_along_path";

std::vector<ConcentrationRow> exact_rows(const std::vector<AttentionLayer>& layers, double L,
                                         const Execution& execution) {
  const runtime::AlignedVector<double> numbers = runtime::distribute_rows(
      std::ssize(layers), concentration::kErrorNumbers, execution,
      [&](std::ptrdiff_t i, std::span<double> row) {
        concentration::pack_errors(ExactErrors(layers[static_cast<std::size_t>(i)])(L, 1, execution),
                                   row.data());
      });
  std::vector<ConcentrationRow> rows;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    rows.push_back(concentration::exact_row(
        layers[i], concentration::unpack_errors(numbers.data() + i * concentration::kErrorNumbers), L, 1));
  }
  return rows;
}

void take_larger(Supremum& supremum, const ErrorBar& error, std::size_t at) {
  if (at == 0 || error.value > supremum.error.value) supremum = {error, at};
}

}  // namespace

PathErrors errors_along_path(const MeasurePtr& tokens, const Queries& queries,
                             std::span<const PathPoint> path, double L, ErrorMethod method,
                             const ConcentrationPlan& plan, const Execution& execution) {
  if (path.empty()) fail(kErrorsAlongPath, "a path of one point at least is needed");
  std::vector<AttentionLayer> layers;
  for (const PathPoint& point : path) {
    layers.push_back({tokens, point.U, point.V, queries});
    check_layer(kErrorsAlongPath, layers.back());
  }
  PathErrors errors;
  if (method == ErrorMethod::exact) {
    errors.rows = exact_rows(layers, L, execution);
  } else {
    concentration::check_sampled_length(kErrorsAlongPath, L);
    for (const AttentionLayer& layer : layers) {
      errors.rows.push_back(concentration::sampled_row(layer, plan, L, 1, 0, execution));
    }
  }
  bool all_U = true;
  for (const ConcentrationRow& row : errors.rows) all_U = all_U && row.gradient_U.has_value();
  if (all_U) errors.gradient_U.emplace();
  for (std::size_t i = 0; i < errors.rows.size(); ++i) {
    take_larger(errors.output, errors.rows[i].output, i);
    take_larger(errors.gradient_V, errors.rows[i].gradient_V, i);
    if (all_U) take_larger(*errors.gradient_U, *errors.rows[i].gradient_U, i);
  }
  return errors;
}

}  // namespace largo
