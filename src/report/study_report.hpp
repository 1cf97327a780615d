// The report of a study.
#pragma once

#include <string>

#include "largo/studies/study_table.hpp"
#include "report/report.hpp"

namespace largo::report {

/// A section for each result, with a table and a figure over `x`, or over the first axis that is a number, a
/// curve for each value of the next one and a slider for the one after; on the page, every other axis that is
/// a number can be chosen for x. InputError where `x`, unless empty, is no axis that is a number.
Report study_report(const StudyTable& table, const std::string& command, const std::string& x = {});

}  // namespace largo::report
