// What was meant by a name that is not known.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace largo {

/// Insertions, deletions, replacements and swaps of neighbours that make one from the other.
std::size_t edit_distance(std::string_view one, std::string_view other);

/// " (did you mean 'sigma'?)", or, where nothing is close, " (known: s, L)".
std::string suggestion(std::string_view name, const std::vector<std::string>& known);

}  // namespace largo
