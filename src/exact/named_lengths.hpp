// Prompt lengths and laws of lengths as texts from options.
#pragma once

#include <string_view>
#include <vector>

#include "io/parse_numbers.hpp"
#include "largo/exact/length_law.hpp"

namespace largo::exact {

/// What parse_lengths() takes, in which uniform:1:100 and geometric:50 may stand for a length; or one law
/// with its probabilities, 10=0.5,100=0.5. `argument` names it in the message.
std::vector<LengthLaw> parse_length_laws(std::string_view argument, std::string_view text,
                                         io::LengthKind kind);

}  // namespace largo::exact
