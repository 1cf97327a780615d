// Numbers for readers, as the page of reports writes them (web/src/format.ts).
#pragma once

#include <string>

namespace largo {

/// At most `digits` significant digits: "−0.981", "3.06×10⁻¹⁵", "10⁻¹²", "∞". Whole numbers are
/// given in full below 10⁶, and below 10⁹ where digits would be lost; powers of ten stand where the exponent
/// is below −3 or above 5. Not for NaN.
std::string shown(double value, int digits = 3);

}  // namespace largo
