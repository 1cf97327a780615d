// The TOML file of a mixture: an array of tables [[component]] with weight, law, and optionally shift.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "largo/measures/measure.hpp"
#include "largo/runtime/matrix.hpp"

namespace largo {

struct MixtureComponent {
  double weight = 0;
  std::string law;
  std::optional<Vector> shift = {};
};

/// InputError, with file and line, for a file that is something else or has other keys.
std::vector<MixtureComponent> read_mixture_file(const std::string& file);

/// The same of the file's text.
std::vector<MixtureComponent> parse_mixture(const std::string& text, const std::string& file);

// The files that the names of laws and matrices lead to, for whoever has to know whether they have changed.

/// Those that named_law() would read for this text, each once: those that it names, and, for mixtures, those
/// that its components name, at any depth. A text or a file with a mistake has those before it.
std::vector<std::string> files_of_law(std::string_view text);

/// That which named_matrix() would read for this text; none for the other names.
std::optional<std::string> file_of_matrix(std::string_view text);

// How deep laws may be made of laws: mixtures, images and pairs of mixtures, images and pairs.
//
// Every question goes down to the innermost laws by recursion, and so does their destruction. Laws nested too
// deep would overflow the stack, and a mixture of twice itself, made again and again, would take forever to
// answer. Both are refused by the constructor.

inline constexpr int kMostNestedLaws = 256;
inline constexpr double kMostInnerLaws = 1e6;

/// The nesting of a law that is made of `parts`, none of which is null. InputError in the name of `function`
/// beyond kMostNestedLaws or kMostInnerLaws.
Nesting nesting_around(std::string_view function, const std::vector<MeasurePtr>& parts);

}  // namespace largo
