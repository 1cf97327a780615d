// The values that a study file, or --set, gives to a parameter.
#pragma once

#include <string>
#include <vector>

#include <toml++/toml.h>

#include "largo/studies/study.hpp"
#include "studies/quantity.hpp"

namespace largo::studies {

/// What the message of an InputError begins with: "study.toml:7", or, without a line, the name alone.
struct Place {
  std::string file;
  std::size_t line = 0;

  std::string text() const;
  /// The line of a value, which may be another one than that of its key.
  Place of(const toml::node& node) const;
};

/// In [settings] and [[points]]: one value.
StudyValue one_value(const Parameter& parameter, const toml::node& node, const Place& where);

/// In [grid]: an array, one value, or, for numbers, "1e1:1e6:13" or "10,100,inf" as on the command line; of
/// other ranges than those of lengths, which are spaced in log, "0.01:1:9:log" is.
std::vector<StudyValue> all_values(const Parameter& parameter, const toml::node& node, const Place& where);

/// After --set KEY=: what could stand in the grid, without quotes.
std::vector<StudyValue> values_of_text(const Parameter& parameter, const std::string& text,
                                       const Place& where);

// Whether the units of a study can be set up at all, before anything is run or written.

/// InputError where no unit has laws, matrices, files and settings that fit each other; nor any of those with
/// one of the texts in the grid or at the points. (A number outside the domain is the failure of its unit.)
/// Up to 1000 units are tried for each text, spread over all that have it; mostly the first one will do.
void check_inputs(const Study& study);

}  // namespace largo::studies
