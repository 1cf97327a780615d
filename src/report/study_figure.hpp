// The figure of one result of a study.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "report/report.hpp"
#include "report/study_layout.hpp"

namespace largo {

/// For readers: as the page has numbers (report/shown_number.hpp), texts as they are.
std::string shown_value(const StudyValue& value);

/// "output against L, a curve for each sigma."
std::string statement_of(const StudyTable& table, const ReportLayout& layout, std::size_t result);

/// With a view for each of the layouts, which have an x axis; the first is shown at first.
ReportFigure study_figure(const StudyTable& table, std::span<const ReportLayout> layouts, std::size_t result);

}  // namespace largo
