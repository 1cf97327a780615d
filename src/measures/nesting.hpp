// How deep laws may be made of laws: mixtures, images and pairs of mixtures, images and pairs.
//
// Every question goes down to the innermost laws by recursion, and so does their destruction. Laws nested too
// deep would overflow the stack, and a mixture of twice itself, made again and again, would take forever to
// answer. Both are refused by the constructor.
#pragma once

#include <string_view>
#include <vector>

#include "largo/measures/measure.hpp"

namespace largo::measures {

inline constexpr int kMostNestedLaws = 256;
inline constexpr double kMostInnerLaws = 1e6;

/// The nesting of a law that is made of `parts`, none of which is null. InputError in the name of `function`
/// beyond kMostNestedLaws or kMostInnerLaws.
Nesting nesting_around(std::string_view function, const std::vector<MeasurePtr>& parts);

}  // namespace largo::measures
