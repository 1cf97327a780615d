// Makes messages that repeat the user's input fit for a terminal.
#pragma once

#include <string>
#include <string_view>

namespace largo {

/// The text on one line. Control characters become \n or \x1b, and bytes that are not UTF-8 become \xff.
/// Words of more than 100 bytes keep the first 60 and the last 20, with … between them. The whole is
/// shortened in the same way to at most 1000 bytes.
std::string shortened_line(std::string_view text);

}  // namespace largo
