// Values of studies as JSON, and back.
#pragma once

#include <string>
#include <vector>

#include "io/json.hpp"
#include "largo/studies/study_row.hpp"

namespace largo::studies {

/// As number_json(), but NaN and an empty value become null.
io::Json value_json(double value);
io::Json value_json(const StudyValue& value);
/// Reads back the value of a parameter; "inf" is a number.
StudyValue value_of(const io::Json& json);

/// The JSON text of a given value: always the same for the same value, because it is hashed.
std::string json_text(const StudyValue& value);

/// "100", "0.1", "inf": the fewest digits that read back as the same number.
std::string number_text(double value);
std::string value_text(const StudyValue& value);  ///< empty for an empty value

}  // namespace largo::studies
