// What largo heads shows: JSON, CSV, and a table.
#pragma once

#include <string>
#include <vector>

#include "io/json.hpp"
#include "largo/heads/head_audit.hpp"

namespace largo {

enum class Curves { without, with };

io::Json to_json(const std::vector<HeadAudit>& audits, Curves curves);
std::string to_csv(const std::vector<HeadAudit>& audits);
/// Sorted by the error of the affine limit; a last line counts the kinds.
void print_table(const std::vector<HeadAudit>& audits);

}  // namespace largo
