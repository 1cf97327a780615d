// One hypothesis of a proposition: its value, whether it holds, and what needs it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace largo {

enum class Holds : std::uint8_t { yes, no, unknown };
/// "yes", "no", "unknown"
const char* name_of(Holds holds);

/// What the value of an assumption is.
enum class ValueKind : std::uint8_t { exact, at_most, at_least };
/// "exact", "at most", "at least"
const char* name_of(ValueKind kind);

struct Assumption {
  std::string name = {};             ///< short and stable, for programs: "sub_gaussian_tokens"
  std::string statement = {};        ///< what is assumed, in words
  std::optional<double> value = {};  ///< may be infinite; none if it is not known
  ValueKind kind = ValueKind::exact;
  Holds holds = Holds::unknown;
  std::string needed_by = {};
  std::string where = {};               ///< where it fails, or what decides; may be empty
  std::string note = {};                ///< may be empty
  std::vector<double> at_queries = {};  ///< the value at each query, if finitely many are given
};

}  // namespace largo
