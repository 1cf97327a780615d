// The report: one HTML file, from a page that web/ builds and the program carries (docs/report.md).
#pragma once

#include <string>

#include "output.hpp"

namespace largo {

/// The page with `data` in it.
std::string report_page(const Json& data);

}  // namespace largo
