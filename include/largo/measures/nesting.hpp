// How deep laws are made of laws: mixtures, images and pairs of mixtures, images and pairs.
//
// Every question goes down to the innermost laws by recursion, and so does their destruction: what is nested
// too deep would overflow the stack, and a mixture of twice itself, made again and again, would be asked for
// ever. Both are refused where they are made.
#pragma once

#include <string_view>
#include <vector>

#include "largo/measures/measure.hpp"

namespace largo {

inline constexpr int kMostNestedLaws = 256;
inline constexpr double kMostInnerLaws = 1e6;

struct Nesting {
  int depth = 0;         ///< 0: not made of other laws
  double innermost = 1;  ///< laws at the bottom, counted as often as they are asked

  /// Of a law that is made of these. InputError in the name of `function` beyond kMostNestedLaws deep, or of
  /// more than kMostInnerLaws laws. None of the parts is null.
  static Nesting around(std::string_view function, const std::vector<MeasurePtr>& parts);
};

}  // namespace largo
