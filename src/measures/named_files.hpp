// The files that names of laws and matrices lead to, for callers that must know whether they have changed.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace largo::measures {

/// The files that named_law() would read for this text, each once: those that it names and, for mixtures,
/// those that the components name, at any depth. A text or a file with a mistake contributes those before it.
std::vector<std::string> files_of_law(std::string_view text);

/// The file that named_matrix() would read for this text; none for a name that is not a file.
std::optional<std::string> file_of_matrix(std::string_view text);

}  // namespace largo::measures
