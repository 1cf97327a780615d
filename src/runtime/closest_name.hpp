// Suggestions for a name that is not known.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace largo::runtime {

/// The number of insertions, deletions, replacements and swaps of neighbours that turn one into the other.
std::size_t edit_distance(std::string_view one, std::string_view other);

/// The known name that was probably meant: `name` is a few letters away from it, abbreviates it or extends
/// it. Case does not matter, nor does - instead of _. Returns nothing if no known name is close.
std::optional<std::string> closest_name(std::string_view name, const std::vector<std::string>& known);

/// " (did you mean 'sigma'?)", or, if nothing is close, " (known: s, L)".
std::string suggestion(std::string_view name, const std::vector<std::string>& known);

}  // namespace largo::runtime
