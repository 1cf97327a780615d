// The folder that largo reproduce writes: report.html, report.json, run.json, figures/.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "output.hpp"
#include "report/report.hpp"

namespace largo {

/// Before the work: makes the folder, and refuses, with InputError, one in which the report could not be
/// written.
void check_report_folder(const char* command, const std::filesystem::path& folder);

struct ReportTexts {
  Json report, run;
  std::string page;
};

/// All files, or none: every one is complete on the disk before the first replaces its predecessor. From
/// there until the last is in place, report.html, there is no report.html; who kills the program then leaves
/// no page that fits neither its figures nor its data. Figures of an earlier report that this one does not
/// have are removed.
void write_report(const char* command, const std::filesystem::path& folder,
                  const std::vector<ReportSection>& claims, const ReportTexts& texts);

}  // namespace largo
