// Messages that repeat what the user gave, fit for a terminal.
#pragma once

#include <string>
#include <string_view>

namespace largo {

/// The text on one line: control characters as \n or \x1b, and what is no UTF-8 as \xff; of words of more
/// than 100 bytes the first 60 and the last 20, … between them, and of the whole no more than 1000 bytes
/// likewise.
std::string shortened_line(std::string_view text);

}  // namespace largo
