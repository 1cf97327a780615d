// Whether the units of a study can be set up at all, before anything is run or written.
#pragma once

#include "largo/studies/study.hpp"

namespace largo {

/// InputError where no unit has laws, matrices, files and settings that fit each other; nor any of those with
/// one of the texts in the grid or at the points. (A number outside the domain is the failure of its unit.)
/// Up to 1000 units are tried for each text, spread over all that have it; mostly the first one will do.
void check_inputs(const Study& study);

}  // namespace largo
