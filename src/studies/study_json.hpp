// Values of studies as JSON, and back.
#pragma once

#include <string>
#include <vector>

#include "io/json.hpp"
#include "largo/studies/study_row.hpp"

namespace largo::studies {

/// As number_json(), but NaN and nothing are null.
io::Json value_json(double value);
io::Json value_json(const StudyValue& value);
/// Of a parameter's value: "inf" is a number.
StudyValue value_of(const io::Json& json);

/// The JSON text of a value that is given: always the same for the same value, for it is hashed.
std::string json_text(const StudyValue& value);

/// "100", "0.1", "inf": the fewest digits that read back as the same number.
std::string number_text(double value);
std::string value_text(const StudyValue& value);  ///< empty for nothing

}  // namespace largo::studies
