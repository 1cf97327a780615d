// The values that a study file, or --set, gives to a parameter.
#pragma once

#include <string>
#include <vector>

#include <toml++/toml.h>

#include "largo/studies/study.hpp"
#include "studies/quantity.hpp"

namespace largo::studies {

/// How the message of an InputError begins: "study.toml:7" or, without a line, the name alone.
struct Place {
  std::string file;
  std::size_t line = 0;

  std::string text() const;
  /// The place of a value, whose line may differ from that of its key.
  Place of(const toml::node& node) const;
};

/// The one value of a parameter in [settings] or [[points]].
StudyValue one_value(const Parameter& parameter, const toml::node& node, const Place& where);

/// The values of a parameter in [grid]: an array, one value or, for numbers, "1e1:1e6:13" or "10,100,inf" as
/// on the command line. A range of lengths is spaced in log, and so is any other that ends in ":log", such as
/// "0.01:1:9:log".
std::vector<StudyValue> all_values(const Parameter& parameter, const toml::node& node, const Place& where);

/// The values after --set KEY=: the same as in the grid, without quotes.
std::vector<StudyValue> values_of_text(const Parameter& parameter, const std::string& text,
                                       const Place& where);

// Checks whether the units of a study can be set up at all, before anything is run or written.

/// Throws InputError if no unit has laws, matrices, files and settings that fit together, or if this is so
/// for all units with one of the texts in the grid or at the points. (A number outside the domain is the
/// failure of its unit.) Up to 1000 units are tried for each text, spread over all that have it; mostly the
/// first one suffices.
void check_inputs(const Study& study);

}  // namespace largo::studies
