// The report: one HTML file, from a page that web/ builds and the program carries (docs/report.md).
#pragma once

#include <string>

#include "output.hpp"

namespace largo {

/// The page with `data` in it, and what made it (run_facts.hpp) in a place of its own, null where the page
/// says nothing of that.
std::string report_page(const Json& data, const Json& run = nullptr);

}  // namespace largo
