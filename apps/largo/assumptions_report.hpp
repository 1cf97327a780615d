// Assumptions as text, JSON and CSV, for the commands that list them.
#pragma once

#include <string>
#include <vector>

#include "io/json.hpp"
#include "largo/concentration/assumptions.hpp"
#include "output_files.hpp"

namespace largo {

struct AssumptionsReport {
  std::string heading;  ///< the first line of the text
  io::Json subject;     ///< what was asked about, in front of the JSON
  std::vector<Assumption> assumptions;
};

/// Prints the report, as JSON or as text, and writes the table if a file was asked for.
void print_assumptions(const char* command, const AssumptionsReport& report, bool as_json,
                       const OutputFiles& outputs);

}  // namespace largo
