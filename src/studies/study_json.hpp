// Values of studies as JSON, and back.
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "largo/studies/study_row.hpp"

namespace largo {

/// Keys in the order they were added.
using StudyJson = nlohmann::ordered_json;

/// A number that is infinite is "inf" or "-inf"; NaN and nothing are null.
StudyJson number_value_json(double value);
StudyJson value_json(const StudyValue& value);
/// Of a parameter's value: "inf" is a number.
StudyValue value_of(const StudyJson& json);

/// The JSON text of a value that is given: always the same for the same value, for it is hashed.
std::string json_text(const StudyValue& value);

/// "100", "0.1", "inf": the fewest digits that read back as the same number.
std::string number_text(double value);
std::string value_text(const StudyValue& value);  ///< empty for nothing

/// Bytes that are not UTF-8 become U+FFFD.
std::string to_text(const StudyJson& json);

}  // namespace largo
