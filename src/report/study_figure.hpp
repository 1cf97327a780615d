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

/// Which of them plays which role.
struct ReportLayout {
  std::optional<ReportAxis> x, curves, slider;
  std::vector<ReportAxis> held;  ///< at their first value
};

/// A layout for each axis that is a number, which is its x: `first` before the others, and these in the
/// study's order. Of the other axes, the next one of any kind has a curve for each value, the next that is a
/// number has the slider. Without such an axis there is one layout, that has no x. InputError where `first`,
/// unless empty, is no such axis.
std::vector<ReportLayout> layouts_of(const StudyTable& table, const std::string& first = {});

/// For readers: as the page has numbers (report/report.hpp), texts as they are.
std::string shown_value(const StudyValue& value);

/// "output against L, a curve for each sigma."
std::string statement_of(const StudyTable& table, const ReportLayout& layout, std::size_t result);

/// With a view for each of the layouts, which have an x axis; the first is shown at first.
ReportFigure study_figure(const StudyTable& table, std::span<const ReportLayout> layouts, std::size_t result);

/// Whether steps in log are more even than steps.
bool is_log_spaced(const ReportAxis& axis);

/// At most `most`, the ends among them.
template <typename Value>
std::vector<Value> spread(const std::vector<Value>& values, std::size_t most) {
  if (values.size() <= most) return values;
  if (most < 2) return {values.front()};
  std::vector<Value> some;
  for (std::size_t i = 0; i < most; ++i) some.push_back(values[i * (values.size() - 1) / (most - 1)]);
  return some;
}

}  // namespace largo::report
