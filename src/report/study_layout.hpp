// What is drawn against what in the figures of a study.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "largo/studies/study_table.hpp"

namespace largo {

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

/// Whether steps in log are more even than steps.
bool log_spaced(const ReportAxis& axis);

/// At most `most`, the ends among them.
template <typename Value>
std::vector<Value> spread(const std::vector<Value>& values, std::size_t most) {
  if (values.size() <= most) return values;
  if (most < 2) return {values.front()};
  std::vector<Value> some;
  for (std::size_t i = 0; i < most; ++i) some.push_back(values[i * (values.size() - 1) / (most - 1)]);
  return some;
}

}  // namespace largo
