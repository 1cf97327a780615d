// The figure of one result of a study, and what is drawn against what in it.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "largo/studies/study_table.hpp"
#include "report/report.hpp"

namespace largo::report {

/// A parameter that has more than one value.
struct ReportAxis {
  std::string name;
  std::size_t parameter = 0;
  std::vector<StudyValue> values;  ///< in the study's order
  bool numeric = true;
};

/// Which axis plays which role.
struct ReportLayout {
  std::optional<ReportAxis> x, curves, slider;
  std::vector<ReportAxis> held;  ///< axes held at their first value
};

/// One layout for each numeric axis, which is its x: first the one for `first`, then the others in the
/// study's order. Of the other axes, the next one of any kind has a curve for each value, and the next
/// numeric one has the slider. If no axis is numeric, there is one layout, which has no x. Throws InputError
/// if `first` is neither empty nor a numeric axis.
std::vector<ReportLayout> layouts_of(const StudyTable& table, const std::string& first = {});

/// A value for readers: numbers as on the page (report/report.hpp), texts as they are.
std::string shown_value(const StudyValue& value);

/// For example "output against L, a curve for each sigma."
std::string statement_of(const StudyTable& table, const ReportLayout& layout, std::size_t result);

/// A figure with a view for each of the layouts, which all have an x axis; the first view is shown at first.
ReportFigure study_figure(const StudyTable& table, std::span<const ReportLayout> layouts, std::size_t result);

/// Whether the values are spaced more evenly in log.
bool is_log_spaced(const ReportAxis& axis);

/// At most `most` of the values, including both ends.
template <typename Value>
std::vector<Value> spread(const std::vector<Value>& values, std::size_t most) {
  if (values.size() <= most) return values;
  if (most < 2) return {values.front()};
  std::vector<Value> some;
  for (std::size_t i = 0; i < most; ++i) some.push_back(values[i * (values.size() - 1) / (most - 1)]);
  return some;
}

}  // namespace largo::report
