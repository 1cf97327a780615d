// Text of unknown origin (paths, tensor names, CSV fields) made fit for a one-line message.
#pragma once

#include <string>
#include <string_view>

namespace largo::io {

/// Escapes control characters and leaves everything else as it is; for paths.
std::string one_line(std::string_view text);

/// Puts text found inside a file in single quotes, as printable ASCII, cut after 60 characters.
std::string in_quotes(std::string_view text);

}  // namespace largo::io
