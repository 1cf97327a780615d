#include "studies/report_layout.hpp"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

namespace largo {
namespace {

// Parameters that have more than one value.
std::vector<ReportAxis> axes_of(const StudyTable& table) {
  std::vector<ReportAxis> axes;
  for (const std::string& name : table.axes) {
    const auto at = std::find(table.parameters.begin(), table.parameters.end(), name);
    if (at == table.parameters.end()) continue;
    ReportAxis axis{name, static_cast<std::size_t>(at - table.parameters.begin()), {}, true};
    std::set<StudyValue> seen;
    for (const StudyRow& row : table.rows) {
      const StudyValue& value = row.inputs[axis.parameter];
      axis.numeric = axis.numeric && std::holds_alternative<double>(value);
      if (seen.insert(value).second) axis.values.push_back(value);
    }
    if (axis.values.size() > 1) axes.push_back(std::move(axis));
  }
  return axes;
}

}  // namespace

bool log_spaced(const ReportAxis& axis) {
  std::vector<double> values;
  for (const StudyValue& value : axis.values) {
    const double x = std::get<double>(value);
    if (!(x > 0)) return false;
    if (std::isfinite(x)) values.push_back(x);
  }
  std::sort(values.begin(), values.end());
  if (values.size() < 2) return true;
  if (values.size() == 2) return values[1] / values[0] >= 10;
  const auto unevenness = [&](auto&& of) {
    double least = HUGE_VAL, most = 0;
    for (std::size_t i = 1; i < values.size(); ++i) {
      const double step = of(values[i]) - of(values[i - 1]);
      least = std::min(least, step);
      most = std::max(most, step);
    }
    return most / least;
  };
  return unevenness([](double x) { return std::log(x); }) < unevenness([](double x) { return x; });
}

ReportLayout layout_of(const StudyTable& table) {
  std::vector<ReportAxis> axes = axes_of(table);
  ReportLayout layout;
  const auto take = [&](bool numeric) -> std::optional<ReportAxis> {
    const auto at =
        std::find_if(axes.begin(), axes.end(), [&](const ReportAxis& a) { return a.numeric || !numeric; });
    if (at == axes.end()) return std::nullopt;
    ReportAxis axis = std::move(*at);
    axes.erase(at);
    return axis;
  };
  layout.x = take(true);
  layout.curves = take(false);
  layout.slider = take(true);
  layout.held = std::move(axes);
  return layout;
}

}  // namespace largo
