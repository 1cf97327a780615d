// A report as one HTML file: a page that web/ builds, with the data in it (docs/report.md).
#pragma once

#include <string>

#include "report/report.hpp"

namespace largo {

/// `run` says what made the report and has a place of its own on the page; null: the page says nothing about
/// that.
std::string report_page(const Report& report, const Json& run = nullptr);

}  // namespace largo
