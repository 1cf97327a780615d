// Figures as SVG.
#pragma once

#include <string>

#include "largo/report/figure.hpp"

namespace largo {

/// The figure as a complete SVG document. Texts may contain any UTF-8 (what is not UTF-8, or not allowed in
/// XML, becomes U+FFFD). Values from 5e-324 to 1.8e308 can be shown. Coordinates have two decimals, and
/// points closer than can be seen are merged. InputError: no panel, a panel without curves, x and y (or low,
/// high) of different sizes, NaN, a negative colour.
std::string to_svg(const Figure& figure);

}  // namespace largo
