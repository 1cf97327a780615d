// Text of unknown origin (paths, tensor names, CSV fields) made fit for a one-line message.
#pragma once

#include <string>
#include <string_view>

namespace largo::io {

/// Control characters escaped, everything else as it is: for paths.
std::string one_line(std::string_view text);

/// In single quotes, only printable ASCII, cut after 60 characters: for what was found inside a file.
std::string in_quotes(std::string_view text);

}  // namespace largo::io
