// One unit of a study: its inputs and what was found.
#pragma once

#include <string>
#include <variant>
#include <vector>

namespace largo {

/// Nothing (a parameter that is not given), a number (∞ is the infinite prompt) or a text.
using StudyValue = std::variant<std::monostate, double, std::string>;

/// One number of a row; NaN where there is none, or nothing is known of the error.
struct StudyResult {
  double value = 0, error = 0;
};

struct StudyRow {
  std::vector<StudyValue> inputs;  ///< in the order of the parameters
  std::vector<StudyResult> results;
  std::string message;  ///< why there are none
  std::string warning;  ///< what sampled results may have missed, or empty
};

}  // namespace largo
