// The page of an audit of heads.
#pragma once

#include <string>
#include <vector>

#include "largo/heads/head_audit.hpp"
#include "report/report.hpp"

namespace largo::report {

/// A section for each prompt of the batch, with a grid of layers and heads, coloured by a number that the
/// reader chooses, and a table of all heads. A chosen head shows its numbers, its errors against the length
/// and, unless all scores of each query agree, the histogram of its scores. Domain: at least one audit.
Report heads_page(const std::vector<HeadAudit>& audits, double tolerance, const std::string& command);

}  // namespace largo::report
