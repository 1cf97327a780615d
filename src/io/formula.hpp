// Formulas of one variable in options and files: "1 + 0.1*ln(L/4096)".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace largo::io {

/// A formula of numbers in decimal notation, the variable, + - * / ^, parentheses, and the functions ln (or
/// log), sqrt, exp, floor, min and max. ^ binds first and to the right, as in 2^3^2 = 2^9, and -2^2 = -4.
class Formula {
 public:
  /// InputError, which names the argument and what is not understood. Texts have at most 1000 bytes, with at
  /// most 50 parentheses, signs or powers within each other.
  Formula(std::string_view argument, std::string_view text, std::string_view variable);

  /// The value, which may be infinite or NaN. Cost: some ns for each operation.
  double operator()(double variable) const;

 private:
  enum class Operation : std::uint8_t {
    number,
    variable,
    negate,
    add,
    subtract,
    multiply,
    divide,
    power,
    ln,
    sqrt,
    exp,
    floor,
    min,
    max
  };
  struct Step {
    Operation operation;
    double number = 0;
  };
  class Parser;
  std::vector<Step> steps_;  // operands before their operation
};

}  // namespace largo::io
