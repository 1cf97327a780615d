// The folder that largo reproduce writes: report.html, report.json, run.json, figures/.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "output.hpp"
#include "report/report.hpp"

namespace largo {

/// Call it before the work. Makes the folder, and throws InputError if the report could not be written there.
void check_report_folder(const char* command, const std::filesystem::path& folder);

struct ReportTexts {
  io::Json report, run;
  std::string page;
};

/// Writes all files or none: each is complete on disk before the first replaces its predecessor. report.html
/// is removed first and put in place last, so a program killed in between leaves no page beside figures of
/// another report. Figures of an earlier report that this one does not have are removed.
void write_report(const char* command, const std::filesystem::path& folder,
                  const std::vector<report::ReportSection>& claims, const ReportTexts& texts);

}  // namespace largo
