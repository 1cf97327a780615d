// Tokens that every prompt holds beside those drawn from a law: sinks, needles, the constant in the
// denominator of "softmax plus one".
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include "largo/runtime/matrix.hpp"

namespace largo {

/// A token z' with the value V z'. Its score is <z', Uz> like that of any token, unless it is given.
struct PlantedToken {
  Vector token;
  std::optional<double> score = {};
  double count = 1;  ///< copies of it in every prompt, at least 1; need not be a whole number
};

/// ln of the sum of e^{score} over its copies, for scores along `direction`.
double log_weight(const PlantedToken& token, const ConstVectorRef& direction);

/// Throws InputError unless the token has d coordinates, all numbers are finite, and 1 <= count <= 1e300.
void check_planted_token(std::string_view function, const PlantedToken& token, std::ptrdiff_t d);

}  // namespace largo
