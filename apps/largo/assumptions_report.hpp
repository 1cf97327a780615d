// Assumptions as text, JSON and CSV, for the commands that list them.
#pragma once

#include <string>
#include <vector>

#include "io/json.hpp"
#include "largo/concentration/assumptions.hpp"

namespace largo {

struct AssumptionsReport {
  std::string heading;  ///< the first line of the text
  io::Json subject;     ///< what was asked about, in front of the JSON
  std::vector<Assumption> assumptions;
};

/// Prints the report, as JSON or as text, and writes the CSV file if there is one.
void print_assumptions(const char* command, const AssumptionsReport& report, bool as_json,
                       const std::string& csv);

}  // namespace largo
