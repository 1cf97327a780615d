// Classes of tokens as options and study files write them: COUNT:SHIFT:SPREAD.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "largo/exact/token_classes.hpp"

namespace largo::exact {

/// Reads COUNT:SHIFT:SPREAD, such as 200:0:1.5. InputError with the function and the argument for anything
/// else, and for numbers outside the domain of class_moments().
TokenClass named_class(std::string_view function, std::string_view argument, std::string_view text);

/// Reads one or more, separated by commas.
std::vector<TokenClass> named_classes(std::string_view function, std::string_view argument,
                                      std::string_view text);

}  // namespace largo::exact
