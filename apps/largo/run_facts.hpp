// What made a report: the program, the machine and the time. Its numbers depend on none of this.
#pragma once

#include <string>

#include "command.hpp"
#include "output.hpp"

namespace largo {

/// For example "gcc 12.2.0".
std::string compiler_of_this_build();

/// {"version", "commit", "modified", "compiler", "date", "machine", "simd", "threads", "processes",
/// "device"}. "commit" is the commit that largo was built from, and "modified" says whether the sources
/// differed from it; both are missing if it was not built from a repository. "date" is in UTC. If
/// SOURCE_DATE_EPOCH is set it is the date, and everything about the machine is left out, so that the report
/// has the same bytes wherever it is made.
io::Json run_facts(const CommonOptions& options);

}  // namespace largo
