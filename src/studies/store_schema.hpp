// The tables of a store, and whether a store is that of a study.
#pragma once

#include <cstdint>
#include <string>

#include "largo/studies/study.hpp"

namespace largo {

inline constexpr std::int64_t kApplicationId = 0x4c41524f;  // "LARO"
inline constexpr std::int64_t kSchemaVersion = 1;

/// SQL that makes the tables.
std::string store_schema(const Study& study);

/// Why the study with the configuration `stored` is another one than that with the configuration `wanted`;
/// empty where it is the same. Grids and points may differ, and a parameter that was fixed may vary; one that
/// is fixed in both must be the same.
std::string study_difference(const std::string& stored, const std::string& wanted);

}  // namespace largo
