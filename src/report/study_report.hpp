// The report of a study.
#pragma once

#include <string>

#include "largo/studies/study_table.hpp"
#include "report/report.hpp"

namespace largo::report {

/// A section for each result, with a table and a figure over `x` or, if that is empty, over the first numeric
/// axis; the figure has a curve for each value of the next axis and a slider for the one after. On the page,
/// any other numeric axis can be chosen for x. Throws InputError if `x` is given and not a numeric axis.
Report study_report(const StudyTable& table, const std::string& command, const std::string& x = {});

}  // namespace largo::report
