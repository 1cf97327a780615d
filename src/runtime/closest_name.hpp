// What was meant by a name that is not known.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace largo::runtime {

/// Insertions, deletions, replacements and swaps of neighbours that make one from the other.
std::size_t edit_distance(std::string_view one, std::string_view other);

/// The known name that was probably meant: a few letters away, an abbreviation of it or a longer word for it.
/// Capitals, and - or _, make no difference. Nothing where none is close.
std::optional<std::string> closest_name(std::string_view name, const std::vector<std::string>& known);

/// " (did you mean 'sigma'?)", or, where nothing is close, " (known: s, L)".
std::string suggestion(std::string_view name, const std::vector<std::string>& known);

}  // namespace largo::runtime
