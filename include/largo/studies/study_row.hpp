// One unit of a study: its inputs and its results.
#pragma once

#include <string>
#include <variant>
#include <vector>

namespace largo {

/// Nothing (a parameter that is not given), a number (∞ is the infinite prompt) or a text.
using StudyValue = std::variant<std::monostate, double, std::string>;

/// One number of a row; NaN if there is no value, or if its error is not known.
struct StudyResult {
  double value = 0, error = 0;
};

struct StudyRow {
  std::vector<StudyValue> inputs;  ///< in the order of the parameters
  std::vector<StudyResult> results;
  std::string message;  ///< why there are no results
  std::string warning;  ///< what sampled results may have missed; empty: nothing
};

}  // namespace largo
