// What made a report: the program, the machine and the time. Its numbers depend on none of this.
#pragma once

#include <string>

#include "command.hpp"
#include "output.hpp"

namespace largo {

/// "gcc 12.2.0"
std::string compiler_of_this_build();

/// {"version", "commit", "modified", "compiler", "date", "machine", "simd", "threads", "processes",
/// "device"}: the commit that largo was built from and whether the sources differed from it (neither, where
/// it was not built from a repository), the time in UTC. Where SOURCE_DATE_EPOCH is set that is the time, and
/// what describes the machine is left out: the report shall then be the same bytes wherever it is made.
Json run_facts(const CommonOptions& options);

}  // namespace largo
