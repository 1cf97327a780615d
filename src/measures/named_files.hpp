// The files that the names of laws and matrices lead to, for whoever has to know whether they have changed.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace largo::measures {

/// Those that named_law() would read for this text, each once: those that it names, and, for mixtures, those
/// that its components name, at any depth. A text or a file with a mistake has those before it.
std::vector<std::string> files_of_law(std::string_view text);

/// That which named_matrix() would read for this text; none for the other names.
std::optional<std::string> file_of_matrix(std::string_view text);

}  // namespace largo::measures
