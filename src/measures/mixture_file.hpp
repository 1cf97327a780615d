// The TOML file of a mixture: an array of tables [[component]] with weight, law, and optionally shift.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "largo/measures/measure.hpp"
#include "largo/runtime/matrix.hpp"

namespace largo::measures {

struct MixtureComponent {
  double weight = 0;
  std::string law;
  std::optional<Vector> shift = {};
};

/// Throws InputError, with file and line, if the file is anything else or has other keys.
std::vector<MixtureComponent> read_mixture_file(const std::string& file);

/// The same for the text of a file.
std::vector<MixtureComponent> parse_mixture(const std::string& text, const std::string& file);

}  // namespace largo::measures
