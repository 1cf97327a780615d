// Figures as data: for the report, and for those who plot with their own tools.
#pragma once

#include <string>
#include <vector>

#include "largo/report/figure.hpp"
#include "output.hpp"

namespace largo {

/// As docs/report.md lays panels out.
Json to_json(const std::vector<Panel>& panels);
/// Infinite numbers as "inf".
Json to_json(const std::vector<double>& values);

/// panel, label, x, y, low, high: a row for each point.
std::string to_csv(const Figure& figure);

}  // namespace largo
