#include "report/study_layout.hpp"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "largo/runtime/check.hpp"

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

// With the axis `x`, if there is one of that name, on the x axis.
ReportLayout layout_with(const std::string& x, std::vector<ReportAxis> axes) {
  const auto take = [&](auto&& fits) -> std::optional<ReportAxis> {
    const auto at = std::find_if(axes.begin(), axes.end(), fits);
    if (at == axes.end()) return std::nullopt;
    ReportAxis axis = std::move(*at);
    axes.erase(at);
    return axis;
  };
  ReportLayout layout;
  layout.x = take([&](const ReportAxis& axis) { return axis.name == x; });
  layout.curves = take([](const ReportAxis&) { return true; });
  layout.slider = take([](const ReportAxis& axis) { return axis.numeric; });
  layout.held = std::move(axes);
  return layout;
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

std::vector<ReportLayout> layouts_of(const StudyTable& table, const std::string& first) {
  const std::vector<ReportAxis> axes = axes_of(table);
  std::vector<std::string> names;
  for (const ReportAxis& axis : axes) {
    if (axis.numeric) names.push_back(axis.name);
  }
  if (!first.empty()) {
    const auto at = std::find(names.begin(), names.end(), first);
    if (at == names.end()) {
      fail("report", "x axis", fmt::format("'{}'", first),
           names.empty()
               ? "left out: no parameter of the study varies and is a number"
               : fmt::format("a parameter that varies and is a number: {}", fmt::join(names, ", ")));
    }
    std::rotate(names.begin(), at, at + 1);
  }
  if (names.empty()) return {layout_with("", axes)};
  std::vector<ReportLayout> layouts;
  for (const std::string& name : names) layouts.push_back(layout_with(name, axes));
  return layouts;
}

}  // namespace largo
