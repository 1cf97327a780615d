// What a study can compute: a quantity has named parameters and named results, and evaluates one unit.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "io/parse_numbers.hpp"
#include "largo/numerics/estimate.hpp"
#include "largo/runtime/execution.hpp"
#include "largo/studies/study_row.hpp"

namespace largo::studies {

enum class ParameterKind : std::uint8_t {
  number,       ///< finite
  positive,     ///< and finite
  length,       ///< at least 1, or infinite
  whole,        ///< 0, 1, … 2^53 - 1, which doubles tell apart
  sample_size,  ///< a whole number, at least 2, as a spread requires
  text,
  law,     ///< a text that named_law() knows
  matrix,  ///< a text that named_matrix() or named_queries() knows
};

inline bool is_text(ParameterKind kind) { return kind >= ParameterKind::text; }

struct Parameter {
  std::string name;
  ParameterKind kind = ParameterKind::number;
  StudyValue otherwise = {};  ///< default value; if empty, see `required`
  bool required = false;
  io::Spacing spacing = io::Spacing::kEven;  ///< spacing of "first:last:count"
  std::vector<std::string> choices = {};     ///< allowed texts; if empty, any text
};

inline constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

/// One number of a unit. The value is kUnknown if the unit has none (because no formula is known, say), and
/// the error is kUnknown if nothing is known about it.
struct UnitResult {
  double value = kUnknown;
  double error = kUnknown;
  bool given = false;    ///< whether there is a value; a given value of NaN is a failure
  bool sampled = false;  ///< the error is a standard error; the sampling has already respected the tolerance
  std::string warning;   ///< what the sample may have missed; empty if nothing is known

  UnitResult() = default;
  explicit UnitResult(double number, double bound = kUnknown) : value(number), error(bound), given(true) {}
  explicit UnitResult(const Estimate& estimate) : UnitResult(estimate.value, estimate.error) {}
};

class Quantity;

/// The input values of one unit, by name.
class UnitInputs {
 public:
  UnitInputs(const Quantity& quantity, const std::vector<StudyValue>& values)
      : quantity_(quantity), values_(values) {}

  double number(std::string_view name) const;
  std::optional<double> given_number(std::string_view name) const;
  std::optional<std::ptrdiff_t> given_size(std::string_view name) const;
  std::string text(std::string_view name) const;  ///< empty if it is not given
  std::uint64_t seed() const { return static_cast<std::uint64_t>(number("seed")); }
  std::optional<double> tolerance() const { return given_number("tolerance"); }

 private:
  const StudyValue& at(std::string_view name) const;

  const Quantity& quantity_;
  const std::vector<StudyValue>& values_;
};

class Quantity {
 public:
  virtual ~Quantity() = default;

  const std::string& name() const { return name_; }
  const std::vector<Parameter>& parameters() const { return parameters_; }
  const std::vector<std::string>& results() const { return results_; }
  std::optional<std::size_t> find(std::string_view parameter) const;

  /// Returns one number for each of results(), as a function of the inputs alone. Throws InputError, also if
  /// an error estimate is above the tolerance, and Stopped.
  std::vector<UnitResult> evaluate(const UnitInputs& inputs, const Execution& execution) const;

  /// The checks that evaluate() makes before its work begins: throws InputError if laws, matrices, files and
  /// settings do not fit together.
  virtual void check(const UnitInputs&) const {}

  /// Whether a unit with these inputs draws prompts that Execution::device can draw.
  virtual bool draws_prompts(const UnitInputs&) const { return false; }

 protected:
  /// Adds the parameters that every quantity has: seed and tolerance.
  Quantity(std::string name, std::vector<Parameter> parameters, std::vector<std::string> results);

  virtual std::vector<UnitResult> compute(const UnitInputs& inputs, const Execution& execution) const = 0;
  /// Whether the tolerance bounds the relative errors of results that are not sampled, which are then checked
  /// afterwards.
  virtual bool bounds_errors(const UnitInputs&) const { return true; }

 private:
  std::string name_;
  std::vector<Parameter> parameters_;
  std::vector<std::string> results_;
};

std::span<const Quantity* const> all_quantities();
const Quantity* find_quantity(std::string_view name);  ///< null if there is none

/// Defined in quantities/.
const Quantity& moments_quantity();
const Quantity& class_moments_quantity();
const Quantity& temperature_quantity();
const Quantity& concentration_quantity();
const Quantity& icl_risk_quantity();
const Quantity& icl_flow_quantity();
const Quantity& icl_threshold_quantity();

}  // namespace largo::studies
